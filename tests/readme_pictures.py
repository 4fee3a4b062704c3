"""Take the README's pictures from the running page. Usage: python tests/readme_pictures.py [URL]

Writes `docs/images/`, light and dark: an animation of one real rejection on Step and three stills.
Without a URL it serves the page itself. Every picture shows a recorded run that ships with the
package, so readers can find it on the page.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from measure_page import PLAYER, ROOT, browsing, served
from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page

FOLDER = ROOT / "docs" / "images"
LIMIT: Final = 1_500_000  # bytes of all pictures together
THEMES: Final = ("light", "dark")
VERDICT: Final = f"{PLAYER}.frame.caption.is"
MARGIN: Final = 16  # pixels around a crop

# As narrow as the tree beside the panel allows, so that a README shows the text large.
NARROW, WIDE, HEIGHT = 1100, 1280, 900

# The rejection: she is accepted, was (p 0.117, q 0.271) is rejected, wanted replaces it.
REJECTION_RUN, REJECTION_ROUND = "06a-story", 1
SHORT, LONG = 900, 2500  # milliseconds per frame of the animation
STEP_RUN, STEP_ROUND, STEP_VERDICT = "03-tree", 1, "rejected"

# Controls that are useless in a picture, and all transitions.
QUIET = """.sv-guess, .sv-race-table { visibility: hidden !important }
.sv-race-buttons { display: none !important }
*, *::before, *::after { transition: none !important; animation: none !important }"""
# A rejection has two frames, one for the coin and one for the table; the rest is dimmed.
NOTHING = ":root {}"
COIN = ".sv-panel > :is(.sv-table, .sv-draw) { opacity: 0.3 }"
TABLE = """.sv-strip, .sv-caption, .sv-evidence > :not(.sv-panel), .sv-panel > .sv-trial
{ opacity: 0.3 }"""


def main(arguments: list[str]) -> None:
    """Take every picture; raise SystemExit if together they exceed LIMIT bytes."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with served(arguments) as url, browsing() as browser:
        for theme in THEMES:
            take_rejection(browser, url, theme)
            take_step(browser, url, theme)
            take_compare(browser, url, theme)
            take_lossless(browser, url, theme)
    report()


@contextmanager
def opened(browser: Browser, address: str, width: int, scale: float) -> Iterator[Page]:
    """Yield the page in a new window, without motion, after its first frame was drawn."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        reduced_motion="reduce",
        device_scale_factor=scale,
    )
    page = context.new_page()
    page.add_init_script("localStorage.setItem('sv-details', '1')")
    page.goto(address)
    page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
    page.wait_for_selector(".sv-tree svg", state="attached")
    page.add_style_tag(content=QUIET)
    page.locator(".sv-intro .sv-away").first.click()
    page.wait_for_timeout(1000)  # the layout fills the room that this has made
    yield page
    context.close()


def take_rejection(browser: Browser, url: str, theme: str) -> None:
    """Take the animation: one round from its first guess to its commit."""
    address = f"{url}?__theme={theme}&trace={REJECTION_RUN}"
    with opened(browser, address, NARROW, 1.5) as page:
        page.add_style_tag(content=".sv-ask, .sv-time, .sv-dock { visibility: hidden }")
        go_to_round(page, REJECTION_ROUND)
        shots, durations = [], []
        area = around(page, ".sv-strip", ".sv-evidence")
        while page.evaluate(f"{PLAYER}.cursor.round") == REJECTION_ROUND:
            verdict = page.evaluate(VERDICT)
            for dimmed in (COIN, TABLE) if verdict == "rejected" else (NOTHING,):
                tag = page.add_style_tag(content=dimmed)
                shots.append(shot(page, area))
                durations.append(SHORT if verdict == "propose" else LONG)
                tag.evaluate("(tag) => tag.remove()")
            page.evaluate(f"{PLAYER}.next()")
    shots[0].save(
        FOLDER / f"rejection-{theme}.webp",
        save_all=True,
        append_images=shots[1:],
        duration=durations,
        loop=0,
        lossless=True,
        quality=100,
        method=6,
    )


def take_step(browser: Browser, url: str, theme: str) -> None:
    """Take the Step tab at a rejection in a tree of guesses."""
    with opened(browser, f"{url}?__theme={theme}&trace={STEP_RUN}", WIDE, 1.25) as page:
        go_to_round(page, STEP_ROUND)
        while page.evaluate(VERDICT) != STEP_VERDICT:
            page.evaluate(f"{PLAYER}.next()")
        still(page, f"step-{theme}", around(page, "#sv-brand", ".sv-dock"))


def take_compare(browser: Browser, url: str, theme: str) -> None:
    """Take the end of a recorded race with its winner."""
    with opened(browser, f"{url}?__theme={theme}", NARROW, 1.25) as page:
        page.get_by_role("tab", name="Compare").click()
        page.wait_for_timeout(2500)
        still(page, f"compare-{theme}", around(page, ".sv-race-head", ".sv-race-headline"))


def take_lossless(browser: Browser, url: str, theme: str) -> None:
    """Take the sandbox of Lossless?: p, q, the output distribution and the verdict."""
    with opened(browser, f"{url}?__theme={theme}", WIDE, 1.25) as page:
        page.get_by_role("tab", name="Lossless?").click()
        page.wait_for_timeout(1500)
        still(page, f"lossless-{theme}", around(page, "#sv-sand-title", ".sv-sand-body"))


def go_to_round(page: Page, number: int) -> None:
    """Advance to the first frame of a round."""
    while page.evaluate(f"{PLAYER}.cursor.round") < number:
        page.evaluate(f"{PLAYER}.next()")


def around(page: Page, *selectors: str) -> FloatRect:
    """Return the smallest rectangle around these elements, with a margin."""
    page.wait_for_timeout(800)  # until the layout has settled
    boxes = [box(page, selector) for selector in selectors]
    left, top = (min(each[side] for each in boxes) - MARGIN for side in ("x", "y"))
    right = max(each["x"] + each["width"] for each in boxes) + MARGIN
    bottom = max(each["y"] + each["height"] for each in boxes) + MARGIN
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def box(page: Page, selector: str) -> FloatRect:
    """Return the position and size of an element."""
    found = page.locator(f"{selector}:visible").first.bounding_box()
    assert found is not None, selector
    return found


def shot(page: Page, area: FloatRect) -> Image.Image:
    """Return a part of the page as an opaque picture."""
    page.wait_for_timeout(400)  # plotly draws after the step has finished
    data = page.screenshot(clip=area, full_page=True)
    return Image.open(io.BytesIO(data)).convert("RGB")


def still(page: Page, name: str, area: FloatRect) -> None:
    """Write one picture, lossless, which is smaller for flat colours and text."""
    shot(page, area).save(FOLDER / f"{name}.webp", lossless=True, quality=100, method=6)


def report() -> None:
    """Print the sizes; raise SystemExit above LIMIT."""
    sizes = {path.name: path.stat().st_size for path in sorted(FOLDER.glob("*.webp"))}
    for name, size in sizes.items():
        print(f"{size:>9,} {name}")
    total = sum(sizes.values())
    print(f"{total:>9,} bytes in all")
    if total > LIMIT:
        raise SystemExit(f"The pictures have {total:,} bytes, more than {LIMIT:,}.")


if __name__ == "__main__":
    main(sys.argv[1:])
