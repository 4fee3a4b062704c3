"""Open the page, as `python -m specviz serve` does; `python app.py --help` lists the options."""

from __future__ import annotations

import sys

from specviz.ui.ending import told_to_end

if __name__ == "__main__":
    with told_to_end():  # entered first, so that it covers the imports too
        from specviz.commands.cli import main

        sys.exit(main(["serve", *sys.argv[1:]], prog="python app.py"))
