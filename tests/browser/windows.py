"""Windows that visitors use one after another, each as if it were new.

Compiling the page's scripts takes most of its first second. A window that has shown the page before
has compiled them already and opens it in a third of the time, so windows are reused. Everything
that a visitor may have left behind is cleared first. Read-only tests leave nothing behind, so they
share a window in which the page stays open, also for the next file; other tests get another window.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page
from visit import OPENED, STEP, Looker, Visit

SIZE = {"width": 1280, "height": 900}
# Not a first visit: all details are on screen, unless a link asks for the simple mode. A newcomer,
# who has this cookie, has nothing stored.
NEWCOMER = "newcomer"
DETAILS = f"""try {{
  if (!document.cookie.includes("{NEWCOMER}"))
    localStorage.setItem("sv-details", localStorage["sv-details"] ?? "1");
}} catch {{}}"""
# Stores again what was stored when the page was opened; other windows of its profile were cleared.
STORE = "(stored) => { localStorage.clear(); Object.assign(localStorage, stored); }"
PATIENCE = 60_000  # milliseconds: a machine may be busy


class Windows:
    """The windows of a browser's own profile, which has compiled the scripts already."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.contexts[0]  # it outlives this connection
        self.context.set_default_timeout(PATIENCE)
        self.context.add_init_script(DETAILS)
        self.free = [*self.context.pages]
        # Pages that are still open, also from another file: their state when they were opened.
        marks = {page: page.evaluate(OPENED) for page in self.free}
        self.left = {page: opened for page, opened in marks.items() if opened}

    @contextmanager
    def visitor(self, url: str, motion: str = "reduce", newcomer: bool = False) -> Iterator[Visit]:
        """Yield a visitor with a window as good as new, which is then free for the next visitor."""
        page = self._next(looks=False)
        visitor = Visit(page, url)
        visitor.prefer(motion)
        if newcomer:
            forget(page, url)
            page.context.add_cookies([{"name": NEWCOMER, "value": "1", "url": url}])
        try:
            yield visitor
        finally:
            visitor.leave()
            sweep(page, url)
            self.free.append(page)

    @contextmanager
    def looker(self, url: str) -> Iterator[Looker]:
        """Yield a visitor for read-only tests; whatever a test changes nevertheless is reset."""
        page = self._next(looks=True)
        looker = Looker(page, url, self.left.pop(page, ""))
        if looker.opened:
            page.evaluate(STORE, json.loads(looker.opened)[-1])
        looker.prefer("reduce")
        try:
            yield looker
        finally:
            looker.leave()
            if looker.untouched():
                self.left[page] = looker.opened
            else:
                sweep(page, url)
            self.free.append(page)

    def _next(self, looks: bool) -> Page:
        """Return a free window of the default size; for read-only tests, one with the page open."""
        empty = [page for page in self.free if page not in self.left]
        choice = [*self.left, *empty] if looks else empty
        if choice:
            self.free.remove(choice[0])
        page = choice[0] if choice else self.context.new_page()
        page.set_viewport_size(SIZE)
        return page

    def close(self) -> None:
        """Leave all pages except those that the tests of any file can look at."""
        for page in self.left:
            if page.evaluate("window.place") != STEP:
                sweep(page, page.evaluate("location.origin"))


def sweep(page: Page, url: str) -> None:
    """Leave the page and clear its storage, permissions and held responses."""
    page.unroute_all(behavior="ignoreErrors")
    if page.url.startswith(url):
        page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    page.context.clear_permissions()
    forget(page, url)


def forget(page: Page, url: str) -> None:
    """Clear what the browser has stored for the page."""
    tools = page.context.new_cdp_session(page)
    origin = url.rstrip("/")
    tools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    tools.detach()
