"""Where the page's own files are served: the addresses, and how long a browser may keep them."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import plotly

PREFIX: Final = "/gradio_api/sv"
FOR_EVER: Final = "public, max-age=31536000, immutable"


@cache
def plotly_js() -> tuple[str, bytes]:
    """The name and the compressed text of the installed wheel's plotly.js."""
    source = (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_bytes()
    return f"plotly-{hashlib.sha256(source).hexdigest()[:12]}.js", gzip.compress(source, 6)
