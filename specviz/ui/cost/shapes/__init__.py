"""Costs of public model sizes, as measured on some machine."""
