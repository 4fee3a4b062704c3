"""Run one Chromium for all tests of a worker.

A new browser compiles all scripts of the page again, which takes longer than most tests. Playwright
cannot stay open across files (its event loop would conflict with tests that start their own), so
the browser runs as a separate process, and each file connects to it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chromium
from playwright.sync_api import sync_playwright

# A mouse, which may rest on something.
POINTERS = [
    "primaryHoverType=2",
    "availableHoverTypes=2",
    "primaryPointerType=4",
    "availablePointerTypes=4",
]
# The arguments that Playwright passes to a browser that it starts, as far as tests need them.
FLAGS = [
    "--headless",
    "--hide-scrollbars",
    "--mute-audio",
    f"--blink-settings={','.join(POINTERS)}",
    "--force-color-profile=srgb",
    "--export-tagged-pdf",
    "--no-first-run",
    "--enable-automation",
    "--disable-back-forward-cache",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-popup-blocking",
    "--disable-search-engine-choice-screen",
    "--disable-gpu",
    "--no-sandbox",
]


@contextmanager
def running(profile: Path) -> Iterator[str]:
    """Yield the address at which a browser with this profile accepts connections."""
    own = ["--remote-debugging-port=0", f"--user-data-dir={profile}"]
    command = [program(), *FLAGS, *own, "about:blank"]
    quiet = subprocess.DEVNULL
    # A process group of its own: Debian's command is a script that does not end its browser.
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True) as browser:
        try:
            yield f"http://127.0.0.1:{port(profile / 'DevToolsActivePort')}"
        finally:
            os.killpg(browser.pid, signal.SIGTERM)


def program() -> str:
    """Return the path of the browser, or of Playwright's own if the machine has none."""
    found = chromium.executable()
    if found:
        return found
    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def port(told: Path) -> int:
    """Wait for the browser to report its port. Raises TimeoutError if it does not."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if told.is_file() and os.linesep in (said := told.read_text(encoding="utf-8")):
            return int(said.splitlines()[0])
        time.sleep(0.05)
    raise TimeoutError(told)
