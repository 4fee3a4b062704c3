"""Opens the page. `python app.py --help` lists what can be chosen."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from specviz.settings.options import count
from specviz.ui.ending import told_to_end

if TYPE_CHECKING:
    from specviz.ui.page import Options


def options(arguments: list[str] | None = None) -> Options:
    """The command line as Options."""
    from specviz.ui.page import Options

    parser = argparse.ArgumentParser(description="Speculative decoding, shown from real runs.")
    parser.add_argument("--host", help="the address to listen on; 127.0.0.1 unless named")
    first = "the first free one from 7860 on, unless named"
    parser.add_argument("--port", type=count("The port", 1, 65535), help=first)
    parser.add_argument("--device", help="cpu, cuda, cuda:N or mps; the best one unless named")
    parser.add_argument("--dtype", help="float32, bfloat16 or float16")
    parser.add_argument(
        "--allow-any-model",
        action="store_true",
        help="let visitors name a target and a draft model: folders, Hub ids, vllm:URL",
    )
    return Options(**vars(parser.parse_args(arguments)))


def main() -> None:
    """Serve the page until somebody ends it."""
    with told_to_end():
        chosen = options()
        from specviz.ui.page import Unserved, launch

        try:
            launch(chosen)
        except Unserved as problem:
            print(f"specviz: {problem}", file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
