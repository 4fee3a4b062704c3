"""Costs of public shapes, as somebody measured them on a machine."""
