"""What `python -m specviz` can do: one file per command.

Rule: each gives `add_parser(subparsers)`, whose parser names its handler as `func`; importing a
command imports no torch, so that traces check and models list on a machine without it.
"""
