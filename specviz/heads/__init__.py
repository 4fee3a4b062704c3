"""Heads that learn to draft from a frozen target: modules, losses, and how they are trained."""
