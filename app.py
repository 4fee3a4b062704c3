"""Opens the page. `python app.py --help` lists what can be chosen."""

from __future__ import annotations

import argparse
import sys
from tempfile import gettempdir
from typing import TYPE_CHECKING

from specviz.adapters.gradio import API_PREFIX
from specviz.settings.options import count
from specviz.ui.ending import told_to_end

if TYPE_CHECKING:
    from specviz.ui.page import Options

HOSTED = f"""\
a hosted app:
  --host 0.0.0.0           where others shall reach it (GRADIO_SERVER_NAME does the same)
  no --allow-any-model     else every visitor can make the host load and fetch what they name
  --longest-run 60         so that nobody holds a small host for long; others have turns meanwhile
  GRADIO_ROOT_PATH=/path   behind a proxy that serves it below a path
  HF_HOME=/folder          where models are fetched to: a folder that the app may write
  SPECVIZ_SERVER=vllm:URL  a server that all visitors may choose as the target
  {API_PREFIX}/sv/health    answers "ok", for a health check
"""
FOLDERLESS = (
    "There is no folder for temporary files that this user may write: name one in the environment "
    "variable TMPDIR."
)


def options(arguments: list[str] | None = None) -> Options:
    """The command line as Options."""
    from specviz.ui.page import Options
    from specviz.ui.share import LEAST, LIMIT, MOST

    parser = argparse.ArgumentParser(
        description="Speculative decoding, shown from real runs.",
        epilog=HOSTED,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    parser.add_argument(
        "--longest-run",
        type=count("The longest run", LEAST, MOST),
        default=LIMIT,
        metavar="SECONDS",
        help="for which a job may compute before it ends with what it has; %(default)g unless said",
    )
    return Options(**vars(parser.parse_args(arguments)))


def main() -> None:
    """Serve the page until somebody ends it."""
    with told_to_end():
        try:
            gettempdir()  # gradio cannot even be imported without one
        except OSError:
            print(f"specviz: {FOLDERLESS}", file=sys.stderr)
            sys.exit(2)
        chosen = options()
        from specviz.ui.page import Unserved, launch

        try:
            launch(chosen)
        except Unserved as problem:
            print(f"specviz: {problem}", file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
