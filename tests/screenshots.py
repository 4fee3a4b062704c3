"""Write screenshots of the page for review. Usage: python tests/screenshots.py FOLDER [URL]

Every scene at 1280 and 390 pixels, light and dark, and grey if it must work without colour.
Without a URL it serves the page itself, with the recorded runs that ship.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import chromium
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PLAYER = "window.specviz.players['sv-step']"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZES: Final = {1280: 900, 390: 844}
GREY = "document.documentElement.style.filter = 'grayscale(1)'"


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: its recorded run, the steps to it, and whether it is also taken in grey."""

    trace: str
    act: Callable[[Page], None]
    grey: bool = False


def until(verdict: str) -> Callable[[Page], None]:
    """Advance until the badge has this text."""

    def act(page: Page) -> None:
        for _ in range(400):
            if page.inner_text(".sv-verdict").strip() == verdict:
                return
            page.evaluate(f"{PLAYER}.next()")
        raise SystemExit(f"no step says {verdict}")

    return act


def guessing(page: Page) -> None:
    """Switch "Predict first" on and stop at the first question."""
    page.get_by_label("Predict first").check()
    until("Your prediction?")(page)


def drawer(page: Page) -> None:
    """Open the settings."""
    page.click("#sv-settings button")


def examples(page: Page) -> None:
    """Open the list of examples."""
    page.click("#sv-examples input")


def larger(page: Page) -> None:
    """Show a rejection in larger text."""
    page.get_by_role("button", name="Larger text").click()
    until("Rejected")(page)


SCENES: Final = {
    "opening": Scene("", lambda page: None),
    "propose": Scene("", until("Propose")),
    "score": Scene("", until("Score")),
    "accepted": Scene("", until("Accepted")),
    "rejected": Scene("", until("Rejected"), grey=True),
    "recovered": Scene("", until("Recovered"), grey=True),
    "bonus": Scene("", until("Bonus")),
    "commit": Scene("", until("Commit")),
    "last": Scene("", lambda page: page.evaluate(f"{PLAYER}.last()")),
    "guess": Scene("", guessing),
    "settings": Scene("", drawer),
    "examples": Scene("", examples),
    "larger": Scene("", larger),
    "temperature-0": Scene("20-ngram-repeat", until("Rejected")),
    "point-mass": Scene("10-top-token", until("Rejected")),
}


def main() -> None:
    """Take every picture."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        take_all(sys.argv[2], folder)
        return
    port = "7898"
    with subprocess.Popen([sys.executable, "app.py", "--port", port], cwd=ROOT) as server:
        time.sleep(15)
        take_all(f"http://127.0.0.1:{port}/", folder)
        server.terminate()


def take_all(url: str, folder: Path) -> None:
    """Take every scene in every size and theme."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.executable(), args=FLAGS)
        for width in SIZES:
            for theme in ("light", "dark"):
                for name, scene in SCENES.items():
                    take(
                        browser, f"{url}?__theme={theme}", folder, f"{name}-{width}-{theme}", scene
                    )
        browser.close()


def take(browser: Browser, url: str, folder: Path, name: str, scene: Scene) -> None:
    """Take one scene in a new browser profile."""
    width = int(name.split("-")[-2])
    context = browser.new_context(
        viewport={"width": width, "height": SIZES[width]},
        reduced_motion="reduce",
        device_scale_factor=1 if width > 1000 else 2,
    )
    page = context.new_page()
    page.goto(url + (f"&trace={scene.trace}" if scene.trace else ""))
    page.wait_for_selector(".sv-verdict:not(:empty)")
    page.wait_for_selector(".sv-tree svg", state="attached")
    scene.act(page)
    # The window is as tall as the page; otherwise the dock at its edge would cover the middle.
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(400)
    page.screenshot(path=folder / f"{name}.png", full_page=True)
    if scene.grey:
        page.evaluate(GREY)
        page.screenshot(path=folder / f"{name}-grey.png", full_page=True)
    context.close()


if __name__ == "__main__":
    main()
