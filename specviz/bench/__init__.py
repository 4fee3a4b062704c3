"""Measure decoding speed: plain decoding, every drafter, and transformers' own methods.

Everything that is compared is measured in turns, with the same prompts, models and settings. Tests
never depend on measured times.
"""
