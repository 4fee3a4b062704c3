"""Drafters: one file or folder per family, with its network, its session and its training.

A family knows the engine's protocols and the shared code in `common`. It knows another family only
if it builds on it.
"""
