"""Print how long it takes to grow trees and to display them.

Usage: python tests/measure_trees.py [URL]. Without a URL it serves the page itself. Nothing is
asserted.

Measurements: building a dynamic tree of 60 tokens (6, 10, 60) compared with the drafter's passes
for it, each with the top guesses of its distribution, in one process, at real positions; the
server's answer; and in the browser, the time from moving a slider to the second animation frame
that shows the new tree.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from measure_page import ROOT, browsing, served
from playwright.sync_api import Page

sys.path.insert(0, str(ROOT))
SIZE = {"depth": 6, "width": 10, "budget": 59}
PLACES = 30
MOVE = """(to) => new Promise((done) => {
  const box = document.querySelector("#sv-grow-shape input[aria-label*=Budget]");
  const tree = document.querySelector("#sv-grow-tree .main-svg");
  const began = performance.now();
  new MutationObserver((_, watch) => {
    watch.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
  }).observe(tree, { childList: true, subtree: true });
  box.value = String(to);
  box.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def main() -> None:
    """Measure and print."""
    building()
    answering()
    with served(sys.argv[1:]) as url:
        painting(url)


def said(name: str, seconds: list[float]) -> None:
    """Return a median and the range, in milliseconds."""
    low, high = min(seconds), max(seconds)
    middle = statistics.median(seconds)
    print(f"{name}: {1e3 * middle:.2f} ms ({1e3 * low:.2f} to {1e3 * high:.2f})")


def building() -> None:
    """Build a tree of 60 tokens; measure the share of the drafter's passes."""
    from specviz.catalog.loading import load_drafter, load_target
    from specviz.drafters.common import dynamic_session as dynamic
    from specviz.drafters.common.dynamic_tree import rank_tokens
    from specviz.models.prompt import encode_prompt
    from specviz.settings.chance import Chance
    from specviz.settings.settings import Sampling, Settings
    from specviz.shipped import prompts
    from specviz.trees.recording import Walk

    target = load_target("house", "cpu")
    settings = Settings(Sampling(1.0), gamma=6, fan_out=10, budget=59)
    for name in ("eagle2", "eagle3", "moa"):
        ids = encode_prompt(target, prompts()["stories"][0], settings).ids
        walk = Walk(target, load_drafter(name, target), ids, settings)
        session: Any = walk.session
        passes: list[float] = []
        session.logits_after = timed(session.logits_after, passes)
        dynamic.rank_tokens = timed(rank_tokens, passes)
        whole: list[float] = []
        propose, share = timed(session.propose, whole), []
        for place in range(PLACES):
            passes.clear()
            propose(walk.text, 7, Chance(1, place))
            share.append(whole[-1] / sum(passes) - 1.0)
            walk.step()
        said(f"{name}, 60 tokens", whole)
        print(f"  beyond the drafter's passes: {100 * statistics.median(share[3:]):.1f}%")


def timed(call: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """Call the function and record its time."""

    def clocked(*args: Any) -> Any:
        start = perf_counter()
        found = call(*args)
        seconds.append(perf_counter() - start)
        return found

    return clocked


def answering() -> None:
    """Measure the instrument's answer for the last step of a large tree."""
    from specviz.ui.trees.grow import respond

    values = {
        "place": "2-eagle2-dialogue", "kind": "dynamic", **SIZE, "own": "", "seed": 1,
        "cold": "warm", "step": 500, "last": 0, "zoom": 1, "picked": 0, "prompt": "",
    }  # fmt: skip
    for shown in ("all", "kept"):
        seconds: list[float] = []
        for _ in range(20):
            timed(lambda: respond({**values, "shown": shown}), seconds)()  # noqa: B023
        said(f"answer, {shown}", seconds)


def painting(url: str) -> None:
    """Measure the time from moving a slider to the new tree on screen."""
    with browsing() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
        page.get_by_role("tab", name="Trees").click()
        page.wait_for_selector("#sv-grow-tree .main-svg")
        page.get_by_role("slider", name="Step").press("End")
        page.wait_for_selector("#sv-grow-mask .main-svg")
        moves(page, "a slider's move, tree of 10 of 30")


def moves(page: Page, name: str) -> None:
    """Move the slider back and forth twenty times."""
    at = int(page.get_by_role("slider", name="Budget").input_value())
    found = [page.evaluate(MOVE, at - 1 + step % 2) / 1e3 for step in range(20)]
    said(name, found[2:])


if __name__ == "__main__":
    main()
