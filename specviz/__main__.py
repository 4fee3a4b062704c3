"""Run `python -m specviz`, the same as the command `specviz`."""

from __future__ import annotations

from typing import NoReturn

from specviz.commands.cli import main
from specviz.commands.pipes import allow_closed_pipes
from specviz.models.devices import exit_process


def run() -> NoReturn:
    """Run the command line and end the process with its exit status."""
    allow_closed_pipes()
    exit_process(main())


if __name__ == "__main__":
    run()
