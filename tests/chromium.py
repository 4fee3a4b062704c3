"""Find or install a Chromium for the browser tests. Standard library only.

Rule: a browser that the machine already has is used as it is, the one without windows first, which
takes a tenth less time; Debian's package comes next, and Playwright's own download last.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
# The font has the symbols that the page draws.
PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")


def executable() -> str | None:
    """Return the path of an installed browser, or None if only Playwright's own may exist."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> None:
    """Install a browser if there is none; raise CalledProcessError if that fails."""
    if executable() is None and not (_is_debian() and _from_debian()):
        # Playwright finds its own earlier download
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def _is_debian() -> bool:
    """Return whether this is Debian with root rights. (Ubuntu's package contains no browser.)"""
    release = Path("/etc/os-release")
    return (
        release.exists()
        and "\nID=debian\n" in f"\n{release.read_text(encoding='utf-8')}\n"
        and os.geteuid() == 0
    )


def _from_debian() -> bool:
    """Install Debian's package; return False if that failed."""
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    update = ["apt-get", "-qq", "update"]
    add = ["apt-get", "-qq", "install", "--yes", "--no-install-recommends", *PACKAGES]
    for command in (update, add):
        if subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False).returncode:
            return False
    return True
