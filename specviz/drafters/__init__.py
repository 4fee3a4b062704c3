"""Drafters: one file or one folder a family, with its network, its session and its training.

Rule: a family knows the engine's protocols and what `kit` has for all; no family knows another's
name but where it builds on it.
"""
