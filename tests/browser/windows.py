"""Windows that visitors use one after another, each as if it were new.

Most of a page's first second goes into compiling its scripts. A window that has had the page
before has them compiled, and opens it in a third of the time; what a visitor could have left
behind is swept away before the next. One who only looks leaves nothing: the next who only looks
finds the page open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page
from visit import Looker, Visit

SIZE = {"width": 1280, "height": 900}
PATIENCE = 60_000  # milliseconds: a machine may be busy


class Windows:
    """The windows of one browser; two that are used at once are profiles of their own."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.own = browser.contexts[0]  # the browser's own profile, which outlives this connection
        self.own.set_default_timeout(PATIENCE)
        self.free = [self.own.pages[0] if self.own.pages else self.own.new_page()]
        self.left: dict[Page, Looker] = {}  # pages that are still open: who looked at them last

    @contextmanager
    def visitor(self, url: str, motion: str = "reduce") -> Iterator[Visit]:
        """A visitor with a window as good as new, which is the next one's afterwards."""
        page = self._next()
        if self.left.pop(page, None):
            sweep(page, url)
        visitor = Visit(page, url)
        visitor.prefer(motion)
        try:
            yield visitor
        finally:
            visitor.leave()
            sweep(page, url)
            self.free.append(page)

    @contextmanager
    def looker(self, url: str) -> Iterator[Looker]:
        """A visitor who only looks. What they change all the same is swept away."""
        page = self._next()
        before = self.left.pop(page, None)
        looker = Looker(page, url, before.opened if before else "")
        looker.prefer("reduce")
        try:
            yield looker
        finally:
            looker.leave()
            if looker.untouched():
                self.left[page] = looker
            else:
                sweep(page, url)
            self.free.append(page)

    def _next(self) -> Page:
        """A free window of the usual size."""
        page = self.free.pop() if self.free else self._window()
        page.set_viewport_size(SIZE)
        return page

    def _window(self) -> Page:
        """A window in a profile of its own."""
        context = self.browser.new_context(viewport=SIZE)
        context.set_default_timeout(PATIENCE)
        return context.new_page()

    def close(self) -> None:
        """Close them all but the browser's own, which is swept."""
        for page in self.free:
            if page.context != self.own:
                page.context.close()
            elif page in self.left:
                sweep(page, self.left[page].url)


def sweep(page: Page, url: str) -> None:
    """Leave the page, and nothing of it behind: storage, permissions, held answers."""
    page.unroute_all(behavior="ignoreErrors")
    if page.url.startswith(url):
        page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    page.context.clear_permissions()
    tools = page.context.new_cdp_session(page)
    origin = url.rstrip("/")
    tools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    tools.detach()
