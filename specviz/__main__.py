"""Run `python -m specviz`, the same as the command `specviz`."""

import sys

from specviz.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
