"""Write screenshots of the page for review. Usage: python tests/screenshots.py FOLDER [URL]

Every scene at 1280 and 390 pixels, light and dark, and grey if it must work without colour.
Without a URL it serves the page itself, with the recorded runs that ship.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from measure_page import PLAYER, browsing, served
from playwright.sync_api import Browser, Page

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
    "settings": Scene("", lambda page: page.click("#sv-settings button")),
    "examples": Scene("", lambda page: page.click("#sv-examples input")),
    "larger": Scene("", larger),
    "temperature-0": Scene("20-ngram-repeat", until("Rejected")),
    "point-mass": Scene("10-top-token", until("Rejected")),
}


def main() -> None:
    """Take every picture."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with served(sys.argv[2:]) as url, browsing() as browser:
        for width, theme, name in product(SIZES, ("light", "dark"), SCENES):
            path = folder / f"{name}-{width}-{theme}"
            take(browser, f"{url}?__theme={theme}", path, width, SCENES[name])


def take(browser: Browser, url: str, path: Path, width: int, scene: Scene) -> None:
    """Take one scene in a new browser profile; `path` lacks the ending."""
    context = browser.new_context(
        viewport={"width": width, "height": SIZES[width]},
        reduced_motion="reduce",
        device_scale_factor=1 if width > 1000 else 2,
    )
    page = context.new_page()
    page.goto(url + "&details=1" + (f"&trace={scene.trace}" if scene.trace else ""))
    page.wait_for_selector(".sv-verdict:not(:empty)")
    page.wait_for_selector(".sv-tree svg", state="attached")
    scene.act(page)
    # The window is as tall as the page; otherwise the dock at its edge would cover the middle.
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(400)
    page.screenshot(path=f"{path}.png", full_page=True)
    if scene.grey:
        page.evaluate(GREY)
        page.screenshot(path=f"{path}-grey.png", full_page=True)
    context.close()


if __name__ == "__main__":
    main()
