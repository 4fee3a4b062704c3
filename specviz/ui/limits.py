"""Limits of jobs and files. Standard library only: the command line reads them before Gradio."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 300.0  # default time limit of a job, in seconds of computing
LEAST, MOST = 5, 86_400  # minimum and maximum seconds that an operator may set
# Limits of a run's file that is opened on the page: its bytes, and those of its trace. 4 MB are
# about 3,000 tokens.
LARGEST_FILE: Final = 10_000_000
LARGEST_TRACE: Final = 4_000_000
