"""Limits of jobs and files. Standard library only: the command line reads them before Gradio."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 300.0  # default time limit of a job, in seconds of computing
LEAST, MOST = 5, 86_400  # minimum and maximum seconds that an operator may set
# Limits of a run's file that is opened in the browser: its bytes, the bytes of its lines once
# unpacked, and the number of values in them, which are all checked.
LARGEST_FILE: Final = 10_000_000
LARGEST_RUN: Final = 30_000_000
MOST_VALUES: Final = 5_000_000
