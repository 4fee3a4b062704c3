"""Find or install a Chromium and fonts for the browser tests. Standard library only.

Rule: a browser that the machine already has is used as it is, the one without windows first, which
takes a tenth less time; Debian's package comes next, and Playwright's own download last.

The page is set in Arial or a font of the same widths; with a wider font, such as DejaVu Sans, texts
would not fit as they do for visitors.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
PACKAGE = "chromium-headless-shell"
ARIAL = ("[Aa]rial*.ttf", "Arimo*.ttf", "LiberationSans-Regular.*")  # these have the same widths
# The first has Arial's widths, the second has the symbols that the page draws.
FONTS = ("fonts-liberation", "fonts-dejavu-core")


def executable() -> str | None:
    """Return the path of an installed browser, or None if only Playwright's own may exist."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> None:
    """Install a browser and fonts if there are none.

    Raises CalledProcessError if there is no browser and none can be installed. Without Arial's
    widths the tests run, and those of the page's layout may fail.
    """
    browser = [] if executable() else [PACKAGE]
    if (browser or not has_arial()) and _is_debian():
        _install_packages([*browser, *FONTS])
    if executable() is None:
        # Playwright finds its own earlier download
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def has_arial() -> bool:
    """Return whether there is a font with Arial's widths; outside Linux there always is."""
    fonts = Path("/usr/share/fonts")
    return sys.platform != "linux" or any(any(fonts.rglob(name)) for name in ARIAL)


def _is_debian() -> bool:
    """Return whether this is Debian with root rights. (Ubuntu's package contains no browser.)"""
    release = Path("/etc/os-release")
    return (
        release.exists()
        and "\nID=debian\n" in f"\n{release.read_text(encoding='utf-8')}\n"
        and os.geteuid() == 0
    )


def _install_packages(names: list[str]) -> None:
    """Install Debian's packages; what that cannot install stays missing."""
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    update = ["apt-get", "-qq", "update"]
    add = ["apt-get", "-qq", "install", "--yes", "--no-install-recommends", *names]
    for command in (update, add):
        subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False)
