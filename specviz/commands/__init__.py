"""The commands of `specviz`, or `python -m specviz`: one module each.

Rule: each has `add_options(parser)`, which adds its options and sets its function as `func`.
Importing a command imports no torch, so `check` and `models` work on a machine without it.
"""
