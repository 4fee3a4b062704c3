"""The time limit of a job. Standard library only: the command line reads it before Gradio."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 300.0  # default time limit of a job, in seconds of computing
LEAST, MOST = 5, 86_400  # minimum and maximum seconds that an operator may set
