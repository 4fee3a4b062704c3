"""Measures decoding speed: plain, every drafter, and transformers' own, in one interleaved run.

Rule: what is compared is measured side by side, on the same prompts, models and settings; nothing
here is ever asserted by a test.
"""
