"""`serve`: start the web page; `app.py` also runs this command.

This is the only command that imports the page, and only when it runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from tempfile import gettempdir
from typing import TYPE_CHECKING, Final

from specviz.adapters.gradio import API_PREFIX
from specviz.commands.parser import DEVICE_HELP, DTYPE_HELP, Parser
from specviz.cost.server.loading import MetricsAddress
from specviz.settings.settings import count_type
from specviz.ui.access import ALLOWED_HOSTS, EMBED_IN, host_name, site
from specviz.ui.ending import exit_on_signals
from specviz.ui.limits import LEAST, LIMIT, MOST

if TYPE_CHECKING:
    from specviz.ui.page import Options

HOST_HELP: Final = f"""\
to host the app for others:
  --host 0.0.0.0           listen on all addresses (or set GRADIO_SERVER_NAME)
  --allowed-host NAME      if the app is opened by a name: localhost and the address that it
                           listens on need none (or set {ALLOWED_HOSTS}=NAME,NAME)
  --embed-in SITE          if another site shows the page in a frame (or set {EMBED_IN})
  no --allow-any-model     with it, every visitor can make this machine load and download models
  --longest-run 60         so that no visitor keeps a small machine busy for long
  GRADIO_ROOT_PATH=/path   if a proxy serves the page below a path
  FORWARDED_ALLOW_IPS=IP   the proxy's address, so that its visitors have addresses of their own
  HF_HOME=/folder          where models are downloaded to: a folder that the app may write
  SPECVIZ_SERVER=vllm:URL  an inference server that every visitor may choose as the target
  {API_PREFIX}/sv/health    answers "ok", for a health check
"""
NO_TEMP_FOLDER: Final = (
    "This user can write to no folder for temporary files: name one in the environment variable "
    "TMPDIR."
)


def add_options(parser: Parser) -> None:
    """Add the options of `serve`."""
    parser.usage = "%(prog)s [OPTIONS]"
    parser.epilog = HOST_HELP
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    port = "port to listen on (default: the first free one from 7860 on)"
    parser.add_argument("--port", type=count_type("The port", 1, 65535), help=port)
    name = "a host name to answer to, whose pages may also call the app; can be repeated"
    parser.add_argument(
        "--allowed-host",
        type=option_type(host_name),
        action="append",
        default=[],
        metavar="NAME",
        help=name,
    )
    parser.add_argument(
        "--embed-in",
        type=option_type(site),
        action="append",
        default=[],
        metavar="SITE",
        help="a site that may show the page in a frame, such as https://course.example.edu, or *; "
        "can be repeated",
    )
    parser.add_argument("--device", help=DEVICE_HELP)
    parser.add_argument("--dtype", help=DTYPE_HELP)
    parser.add_argument(
        "--allow-any-model",
        action="store_true",
        help="let visitors name any target and drafter: folders, Hub ids, vllm:URL",
    )
    parser.add_argument(
        "--longest-run",
        type=count_type("The longest run", LEAST, MOST),
        default=LIMIT,
        metavar="SECONDS",
        help="how long one job may compute before it ends with what it has (default: %(default)g)",
    )
    parser.add_argument(
        "--metrics-from",
        type=option_type(metrics_address),
        metavar="URL",
        help="the address of an inference server's metrics, which every visitor may read on Cost, "
        "such as http://127.0.0.1:8000/metrics",
    )
    parser.set_defaults(func=run)


def metrics_address(url: str) -> str:
    """Return an address of metrics. Raises ValueError if it is none."""
    MetricsAddress(url)
    return url


def option_type(check: Callable[[str], str]) -> Callable[[str], str]:
    """Wrap `check` as an argparse type: a ValueError's message becomes the error message."""

    def checked(text: str) -> str:
        try:
            return check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


def page_options(args: argparse.Namespace) -> Options:
    """Convert the options of the command line to those of the page."""
    from specviz.ui.page import Options

    lists = {name: tuple(getattr(args, name)) for name in ("allowed_host", "embed_in")}
    return Options(**{name: getattr(args, name) for name in Options.__dataclass_fields__} | lists)


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C or SIGTERM. Raises ValueError if the page cannot be served."""
    with exit_on_signals():
        try:
            gettempdir()  # without it, Gradio cannot even be imported
        except OSError as error:
            raise ValueError(NO_TEMP_FOLDER) from error
        options = page_options(args)
        from specviz.ui.page import launch

        launch(options)
    return 0
