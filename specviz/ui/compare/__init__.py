"""The Compare tab: a race on one prompt, and a map of drafters by domain."""
