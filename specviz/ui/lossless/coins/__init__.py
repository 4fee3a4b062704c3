"""Coins: the sandbox's rule really run, beside what an exact sampler would show."""
