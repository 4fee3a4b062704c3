"""The Compare tab: a race on one prompt, and the shipped prompts domain by domain."""
