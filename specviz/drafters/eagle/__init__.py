"""EAGLE, EAGLE-2 and EAGLE-3: a small head guesses the next inner state of the target."""
