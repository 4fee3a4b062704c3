"""Windows that visitors use one after another, each as if it were new.

Compiling the page's scripts takes most of its first second. A window that has shown the page before
has compiled them already and opens it in a third of the time, so windows are reused. Everything
that a visitor may have left behind is cleared first. Read-only tests leave nothing behind, so they
share a window in which the page stays open; other tests get another window.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page
from visit import Looker, Visit

SIZE = {"width": 1280, "height": 900}
# Not a first visit: all details are on screen, unless a link asks for the simple mode.
DETAILS = "try { localStorage.setItem('sv-details', localStorage['sv-details'] ?? '1') } catch {}"
PATIENCE = 60_000  # milliseconds: a machine may be busy


class Windows:
    """The windows of one browser.

    Two windows in use at the same time have separate profiles. All others belong to the browser's
    own profile, which has compiled the scripts already.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.own = browser.contexts[0]  # the browser's own profile, which outlives this connection
        self.own.set_default_timeout(PATIENCE)
        self.own.add_init_script(DETAILS)
        self.free = [*self.own.pages]
        self.used: list[Page] = []
        self.left: dict[Page, Looker] = {}  # pages that are still open: who looked at them last

    @contextmanager
    def visitor(self, url: str, motion: str = "reduce") -> Iterator[Visit]:
        """Yield a visitor with a window as good as new, which is then free for the next visitor."""
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
        """Yield a visitor for read-only tests; whatever a test changes nevertheless is reset."""
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
        """Return a free window of the default size; for read-only tests, one with the page open."""
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
        """Mark a window as free."""
        self.used.remove(page)
        self.free.append(page)

    def _window(self, alone: bool) -> Page:
        """Return a new window, in a separate profile if another window is in use."""
        if alone:
            return self.own.new_page()
        context = self.browser.new_context(viewport=SIZE)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(DETAILS)
        return context.new_page()

    def close(self) -> None:
        """Close all windows except those of the browser's own profile, which are cleared."""
        for page in self.free:
            if page.context != self.own:
                page.context.close()
            elif page in self.left:
                sweep(page, self.left[page].url)


def sweep(page: Page, url: str) -> None:
    """Leave the page and clear its storage, permissions and held responses."""
    page.unroute_all(behavior="ignoreErrors")
    if page.url.startswith(url):
        page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    page.context.clear_permissions()
    tools = page.context.new_cdp_session(page)
    origin = url.rstrip("/")
    tools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    tools.detach()
