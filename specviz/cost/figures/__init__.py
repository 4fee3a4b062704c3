"""Figures of the Cost tab."""
