"""Windows that visitors use one after another, each as if it were new.

Most of a page's first second goes into compiling its scripts. A window that has had the page
before has them compiled, and opens it in a third of the time; what a visitor could have left
behind is swept away before the next. One who only looks leaves nothing: the next who only looks
finds the page open, whoever came between, who has another window.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page
from visit import Looker, Visit

SIZE = {"width": 1280, "height": 900}
PATIENCE = 60_000  # milliseconds: a machine may be busy


class Windows:
    """The windows of one browser; two that are used at once are profiles of their own.

    Else all are of the browser's own profile, whose scripts are compiled already.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.own = browser.contexts[0]  # the browser's own profile, which outlives this connection
        self.own.set_default_timeout(PATIENCE)
        self.free = [*self.own.pages]
        self.used: list[Page] = []
        self.left: dict[Page, Looker] = {}  # pages that are still open: who looked at them last

    @contextmanager
    def visitor(self, url: str, motion: str = "reduce") -> Iterator[Visit]:
        """A visitor with a window as good as new, which is the next one's afterwards."""
        page = self._next(looks=False)
        visitor = Visit(page, url)
        visitor.prefer(motion)
        try:
            yield visitor
        finally:
            visitor.leave()
            sweep(page, url)
            self._free(page)

    @contextmanager
    def looker(self, url: str) -> Iterator[Looker]:
        """A visitor who only looks. What they change all the same is swept away."""
        page = self._next(looks=True)
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
            self._free(page)

    def _next(self, looks: bool) -> Page:
        """A free window of the usual size; where the page is open, for one who looks only."""
        alone = not self.used
        fit = [page for page in self.free if (page.context == self.own) == alone]
        empty = [page for page in fit if page not in self.left]
        left = [page for page in fit if page in self.left]
        choice = [*left, *empty] if looks else empty
        page = choice[0] if choice else self._window(alone)
        if choice:
            self.free.remove(page)
        self.used.append(page)
        page.set_viewport_size(SIZE)
        return page

    def _free(self, page: Page) -> None:
        """It can be the next one's."""
        self.used.remove(page)
        self.free.append(page)

    def _window(self, alone: bool) -> Page:
        """A new window, in a profile of its own where it is not the only one in use."""
        if alone:
            return self.own.new_page()
        context = self.browser.new_context(viewport=SIZE)
        context.set_default_timeout(PATIENCE)
        return context.new_page()

    def close(self) -> None:
        """Close them all but those of the browser's own profile, which are swept."""
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
