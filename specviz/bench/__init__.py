"""Decoding speed, measured in one interleaved run: plain, every drafter, and transformers' own.

Everything compared is measured side by side with the same prompts, models and settings. Tests
assert no timing.
"""
