"""Prints how quickly the page answers; asserts nothing. Usage: python tests/measure_page.py [URL]

First paint, key to paint at every step of the first recorded run, and, where the house's models
are there, click to first round. Without a URL it serves the page itself.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import chromium
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PLAYER = "window.specviz.players['sv-step']"
OVER = "!document.body.classList.contains('sv-running')"
# From just before the key's own handler to the second animation frame after it.
STEP = f"""() => new Promise((done) => {{
  const start = performance.now();
  {PLAYER}.next();
  const script = performance.now() - start;
  requestAnimationFrame(() => requestAnimationFrame(() =>
    done([performance.now() - start, script, {PLAYER}.frame.step.kind])));
}})"""


def main() -> None:
    """Measure and print."""
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    port = "7899"
    with subprocess.Popen([sys.executable, "app.py", "--port", port], cwd=ROOT) as server:
        time.sleep(15)
        measure(f"http://127.0.0.1:{port}/")
        server.terminate()


def measure(url: str) -> None:
    """Open the page at `url` in a fresh profile, step through, and run live once."""
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.executable(), args=flags)
        page = browser.new_context(reduced_motion="reduce").new_page()
        start = time.perf_counter()
        page.goto(url)
        page.wait_for_selector(".sv-verdict:not(:empty)")
        print(f"first caption   {time.perf_counter() - start:6.2f} s")
        page.wait_for_selector(".sv-tree .main-svg", state="attached")
        print(f"first tree      {time.perf_counter() - start:6.2f} s")
        steps(page)
        live(page)
        browser.close()


def steps(page: Page) -> None:
    """Key to paint, by kind of step."""
    taken = [page.evaluate(STEP) for _ in range(100)]
    for kind in sorted({kind for *_, kind in taken}):
        paint = sorted(ms for ms, _, k in taken if k == kind)
        script = sorted(ms for _, ms, k in taken if k == kind)
        print(
            f"{kind:8} n={len(paint):3}  to paint {statistics.median(paint):5.0f} ms"
            f" (most {paint[-1]:.0f}), script {statistics.median(script):5.1f} ms"
        )


def live(page: Page) -> None:
    """Click to first round of two live runs, or why there is none."""
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
