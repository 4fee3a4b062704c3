"""How much of each draft to check when many requests share a pass: simulated."""
