"""Print the page's response times and sizes; nothing is asserted.

Usage: python tests/measure_page.py [URL]. Without a URL it serves the page itself: with the runs
that ship, and again with a made-up run whose 60 guesses per round exceed the tree's window.

Measurements: transferred bytes of a cold open, by kind; the time from navigation in a fresh profile
to the first caption, tree and step; from a key press (the timestamp of the event, so waiting for
the page counts) to the end of the second animation frame; layout shifts (Layout Instability API),
including those right after input; heap, nodes and listeners before and after 500 steps; and from
the click on Run live to the first round, if the models are installed.
"""

from __future__ import annotations

import math
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromium
from app_server import ROOT, wait_for
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

PLAYER = "window.specviz['sv-step']"
OVER = "!document.body.classList.contains('sv-running')"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LIMIT = 793_000  # transferred bytes of a cold open
STEPS = 100
# The event's timestamp is when the key was pressed; its effect is visible by the second frame.
KEYS = f"""() => {{
  window.taken = [];
  addEventListener("keydown", (event) => {{
    const began = event.timeStamp;
    requestAnimationFrame(() => requestAnimationFrame((shown) =>
      window.taken.push([performance.now() - began, {PLAYER}.frame.step.kind])));
  }}, {{ capture: true }});
}}"""
SHIFTS = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      window.shifts.push([value, hadRecentInput, sources.map(({ node }) =>
        node ? node.nodeName + "." + (node.className?.baseVal ?? node.className) : "gone")]);
  }).observe({ type: "layout-shift", buffered: true });
}"""
TRIP = f"""(steps) => {{
  for (let at = 0; at < steps; at += 1) {PLAYER}.next();
  for (let at = 0; at < steps; at += 1) {PLAYER}.back();
}}"""


def main() -> None:
    """Measure and print everything."""
    given = sys.argv[1:]
    with browsing() as browser:
        with served(given) as url:
            weight(browser, url)
            trace_moves(browser, url)
            page = opened(browser, url)
            steps(page)
            heap(page)
            live(page)
            page.context.close()
        if not given:
            wide(browser)


@contextmanager
def browsing() -> Iterator[Browser]:
    """Yield a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.executable(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def served(given: list[str], *command: str) -> Iterator[str]:
    """Yield the given address, or that of a server that runs within the context.

    command: what starts the server if its port is added; app.py if omitted.
    """
    if given:
        yield given[0]
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, *(command or ("app.py", "--port")), str(port)]
    with subprocess.Popen(words, cwd=ROOT) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/")
            time.sleep(10)  # the server also reads its models
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


def wide(browser: Browser) -> None:
    """Measure the steps of a made-up run with 60 guesses per round."""
    sys.path.insert(0, str(ROOT))
    from made import RUNS, made

    with tempfile.TemporaryDirectory() as folder:
        made(RUNS["07-wide"]).write(Path(folder) / "07-wide.jsonl")
        with served([], "tests/browser/serve.py", folder) as url:
            print("a made-up run of 60 guesses a round:")
            page = opened(browser, url, "&trace=07-wide")
            steps(page)
            page.context.close()


def fresh(browser: Browser, motion: str = "reduce") -> BrowserContext:
    """Return a new browser profile without caches."""
    size = {"width": 1280, "height": 900}
    context = browser.new_context(viewport=size, reduced_motion=motion)
    context.set_default_timeout(120_000)
    return context


def opened(browser: Browser, url: str, query: str = "") -> Page:
    """Open the page; return it with its first frame and tree drawn, and the seconds these took."""
    page = fresh(browser).new_page()
    page.add_init_script(f"({SHIFTS})()")
    start = time.perf_counter()
    page.goto(f"{url}?details=1{query}")
    page.wait_for_selector(".sv-verdict:not(:empty)")
    print(f"first caption   {time.perf_counter() - start:6.2f} s")
    page.wait_for_selector(".sv-tree svg", state="attached")
    print(f"first tree      {time.perf_counter() - start:6.2f} s")
    return page


def trace_moves(browser: Browser, url: str) -> None:
    """Measure from navigation to the first step that plays by itself."""
    page = fresh(browser, "no-preference").new_page()
    start = time.perf_counter()
    page.goto(f"{url}?details=1")
    page.wait_for_function("window.specviz?.['sv-step']?.cursor.step > 0")
    print(f"first step      {time.perf_counter() - start:6.2f} s (it plays by itself)")
    page.context.close()


def weight(browser: Browser, url: str) -> None:
    """Return the transferred bytes of a cold open by kind, as counted by the browser."""
    context = fresh(browser)
    page = context.new_page()
    tools = context.new_cdp_session(page)
    tools.send("Network.enable")
    kinds: dict[str, str] = {}
    told: dict[str, str] = {}
    sizes: dict[str, int] = {}

    def answered(event: dict[str, Any]) -> None:
        kinds[event["requestId"]] = event["type"].lower()
        told[event["requestId"]] = event["response"]["url"].removeprefix(url)

    def loaded(event: dict[str, Any]) -> None:
        sizes[event["requestId"]] = int(event["encodedDataLength"])

    tools.on("Network.responseReceived", answered)
    tools.on("Network.loadingFinished", loaded)
    page.goto(f"{url}?details=1")
    page.wait_for_selector(".sv-tree svg", state="attached")
    page.wait_for_timeout(3000)
    report({told[key]: (kind(told[key], kinds[key]), size) for key, size in sizes.items()})
    context.close()


def kind(name: str, said: str) -> str:
    """Return the kind of a request."""
    if "/sv/" in name:
        kinds = {"/sv/traces/": "trace", "/sv/plotly-": "plotly"}
        return next((kind for part, kind in kinds.items() if part in name), "js")
    return {"document": "html", "script": "js", "stylesheet": "css"}.get(said, said)


def report(rows: dict[str, tuple[str, int]]) -> None:
    """Print the bytes by kind, and the largest requests."""
    sums: Counter[str] = Counter()
    for what, size in rows.values():
        sums[what] += size
    whole = sums.total()
    verdict = "within" if whole <= LIMIT else "over"
    print(f"a cold open: {whole:,} bytes in {len(rows)} requests, {verdict} the limit of {LIMIT:,}")
    for what, size in sums.most_common():
        print(f"  {what:12} {size:10,}")
    for name, (what, size) in sorted(rows.items(), key=lambda row: -row[1][1])[:12]:
        print(f"    {size:10,} {what:6} {name[:80]}")


def steps(page: Page) -> None:
    """Measure from key press to paint by kind of step, and the layout shifts meanwhile."""
    page.evaluate(KEYS)
    page.evaluate("window.shifts.length = 0")
    for _ in range(STEPS):
        before = page.evaluate("window.taken.length")
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"window.taken.length > {before}")
    taken = page.evaluate("window.taken")
    for kind_ in [*sorted({kind_ for _, kind_ in taken}), "any"]:
        times = sorted(ms for ms, k in taken if kind_ in {k, "any"})
        late = times[math.ceil(0.95 * len(times)) - 1]
        print(
            f"key to paint, {kind_:8} n={len(times):3}  median {statistics.median(times):5.0f} ms"
            f"  p95 {late:5.0f}  most {times[-1]:5.0f}"
        )
    moved = page.evaluate("window.shifts")
    late_sum = sum(value for value, recent, _ in moved if not recent)
    print(f"layout shifts   {len(moved)}, in all {sum(value for value, *_ in moved):.4f}", end="")
    print(f", of which not after input {late_sum:.4f}")
    named = Counter(name for *_, names in moved for name in names)
    for name, times_ in named.most_common(6):
        print(f"  {times_:4} {name}")


def heap(page: Page) -> None:
    """Measure the growth of the heap over 500 steps, after 500 steps to warm up."""
    page.evaluate(f"{PLAYER}.first()")
    page.evaluate(TRIP, 250)
    before = kept(page)
    page.evaluate(TRIP, 250)
    after = kept(page)
    for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners"):
        print(f"{name:16} {before[name]:12,.0f} {after[name] - before[name]:+10,.0f} in 500 steps")


def kept(page: Page) -> dict[str, float]:
    """Return heap, nodes and listeners after garbage collection."""
    page.wait_for_timeout(500)
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")
    for _ in range(2):
        tools.send("HeapProfiler.collectGarbage")
    metrics = tools.send("Performance.getMetrics")["metrics"]
    tools.detach()
    return {metric["name"]: metric["value"] for metric in metrics}


def live(page: Page) -> None:
    """Measure from the click to the first round of two live runs, or say why there is none."""
    for name in ("first", "second"):
        before = page.evaluate(f"{PLAYER}.asked")
        start = time.perf_counter()
        page.click("#sv-go")
        page.wait_for_function(f"{PLAYER}.asked !== {before}")
        page.wait_for_function(f"{PLAYER}.run?.id === String({PLAYER}.asked) || {OVER}")
        taken = time.perf_counter() - start
        page.wait_for_function(OVER, timeout=300_000)
        why = page.inner_text(".sv-notice")
        print(f"{name} live run: {why or f'first round after {taken:.2f} s'}")


if __name__ == "__main__":
    main()
