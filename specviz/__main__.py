"""`python -m specviz`."""

import sys

from specviz.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
