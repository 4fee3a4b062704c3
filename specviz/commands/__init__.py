"""The commands of `specviz`, or `python -m specviz`: one module per command.

Each module has a function `add_options(parser)`, which adds the command's options and sets its
function as `func`. Importing a command does not import torch, so `check` and `models` work on a
machine without it.
"""
