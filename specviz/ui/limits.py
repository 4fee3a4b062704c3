"""The time limit of a job. Standard library only: the command line reads it before Gradio."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 300.0  # seconds of computing after which a job ends, unless the host sets another
LEAST, MOST = 5, 86_400  # seconds that a host may set
