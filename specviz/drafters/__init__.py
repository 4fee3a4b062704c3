"""Drafters: one file or folder per family, with its network, its session and its training.

A family imports the engine's protocols and the shared code in `common`. It imports another family
only if it extends that family.
"""
