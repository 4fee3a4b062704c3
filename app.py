"""Open the page, as `python -m specviz serve` does; `python app.py --help` lists the options."""

from __future__ import annotations

import sys

from specviz.ui.ending import exit_on_signals

if __name__ == "__main__":
    with exit_on_signals():  # entered first, so that it covers the imports too
        from specviz.commands.cli import main

        sys.exit(main(["serve", *sys.argv[1:]], prog="python app.py"))
