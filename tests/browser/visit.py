"""A visitor: a page in a separate window, with its console and network messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

SHARES = """(opens) => {
  const menu = document.querySelector("#sv-sharing");
  if (menu.matches(":popover-open") !== opens) menu.togglePopover();
}"""

HURRY = """(times) => {
  const wait = window.setTimeout;
  window.setTimeout = (act, time, ...more) => wait(act, time / times, ...more);
}"""


def share(page: Page, name: str) -> None:
    """Press a button of the menu that shares the run on Step, and close the menu."""
    page.evaluate(SHARES, True)
    page.get_by_role("button", name=name).click()
    page.evaluate(SHARES, False)


class Visit:
    """A page in a separate window, with its console and network messages."""

    def __init__(self, page: Page, url: str) -> None:
        self.url = url
        self.page = page
        self.errors: list[str] = []
        self.foreign: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", self._error)
        page.on("request", self._request)

    def prefer(self, motion: str) -> None:
        """Set the preference for reduced motion only."""
        self.page.emulate_media(media="null", color_scheme="null", reduced_motion=motion)

    def hurry(self, times: int) -> None:
        """Shorten all waiting of the page from now on, such as that of autoplay at each step."""
        self.page.evaluate(HURRY, times)

    def leave(self) -> None:
        """Detach from the page, so that its later messages are ignored."""
        self.page.remove_listener("console", self._console)
        self.page.remove_listener("pageerror", self._error)
        self.page.remove_listener("request", self._request)

    def _error(self, error) -> None:
        self.errors.append(str(error))

    def _console(self, message) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _request(self, request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.foreign.append(request.url)

    def open(self, query: str = "") -> Page:
        """Open the page and wait until a frame is drawn."""
        self.page.goto(self.url + query)
        self.page.wait_for_selector(".sv-verdict:not(:empty)", state="attached")
        self.page.wait_for_selector(".sv-tree svg", state="attached")
        return self.page

    def dress(self, theme: str) -> None:
        """Switch to light or dark, and wait until Gradio's colours have changed."""
        self.page.evaluate("(on) => document.body.classList.toggle('dark', on)", theme == "dark")
        self.page.wait_for_function(STILL)

    def show(self, name: str) -> None:
        """Open another recorded run in the open page."""
        self.page.evaluate(ANEW, name)
        assert self.ask("run.id") == name

    def ask(self, expression: str):
        """Evaluate a property or a call of the player's public object."""
        return self.page.evaluate(f"window.specviz['sv-step'].{expression}")

    def step_to(self, verdict: str) -> None:
        """Step forward until a badge says `verdict`."""
        badge = "document.querySelector('.sv-verdict').innerText.trim()"
        assert self._step_on(f"{badge} === {json.dumps(verdict)}"), f"no step says {verdict}"

    def step_until(self, condition: str) -> None:
        """Step forward until this condition on `frame` is true."""
        assert self._step_on(condition), f"no step has {condition}"

    def _step_on(self, until: str) -> bool:
        """Step forward until this condition on `frame` is true; return whether it became true."""
        found: bool = self.page.evaluate(
            f"""() => {{
              const player = window.specviz["sv-step"];
              for (let steps = 0; steps < 400; steps += 1) {{
                const {{ frame }} = player;
                if ({until}) return true;
                player.next();
              }}
              return false;
            }}"""
        )
        return found

    def caption(self) -> str:
        """Return the sentence on screen."""
        return self.page.inner_text(".sv-say")

    def open_more(self) -> None:
        """Open the settings, and in them those that are folded."""
        if not self.page.evaluate("document.body.classList.contains('sv-drawer-open')"):
            self.page.click("#sv-settings")
        if not self.page.locator("#sv-more-in").is_visible():
            self.page.get_by_role("button", name="More settings").click()
        expect(self.page.locator("#sv-more-in")).to_be_visible()

    def fill_in(
        self, pair: tuple[Path, Path], prompt: str, tokens: int = 12, seed: int = 1
    ) -> None:
        """Fill the form in for a run of the tiny models."""
        page = self.page
        self.open_more()
        page.locator("#sv-target input").fill(str(pair[0]))
        page.locator("#sv-target input").press("Enter")
        page.get_by_label("Drafter: a folder or a Hub id").fill(str(pair[1]))
        page.get_by_label("New tokens").first.fill(str(tokens))
        page.get_by_label("Seed").fill(str(seed))
        page.get_by_label("Prompt").fill(prompt)

    def choose(self, field: str, title: str) -> None:
        """Choose an option from a list by its label."""
        self.page.locator(field).click()
        self.page.get_by_role("option", name=title, exact=True).click()
        expect(self.page.locator("[role=option]:visible")).to_have_count(0)

    def listed(self, field: str) -> set[str]:
        """Return the options that a list shows."""
        self.page.locator(field).click()
        self.page.locator("[role=option]:visible").first.wait_for()
        shown = self.page.locator("[role=option]:visible").all_inner_texts()
        self.page.keyboard.press("Escape")
        expect(self.page.locator("[role=option]:visible")).to_have_count(0)
        return {words.strip().lstrip("✓").strip() for words in shown}

    def run(self) -> None:
        """Press Run live, and wait until the page has requested the run."""
        before = self.ask("asked")
        self.page.click("#sv-go")
        self.page.wait_for_function(f"window.specviz['sv-step'].asked !== {before}")

    def wait_until_over(self) -> None:
        """Wait until the server is done with the run."""
        self.page.wait_for_function("!document.body.classList.contains('sv-running')")


# Everything that a visitor may have changed except run, step and focus.
MARKS = """() => {
  const runs = ["sv-is-lossy", "sv-shows-unlisted", "sv-races-live"];
  const of = (each) => [...each.classList].filter((name) => !runs.includes(name));
  const fields = [...document.querySelectorAll("#sv-tabs input, #sv-tabs textarea")];
  const tab = document.querySelector("[role=tab][aria-selected=true]").textContent;
  const above = document.querySelectorAll("[inert], dialog[open], :popover-open").length;
  return JSON.stringify([of(document.documentElement), of(document.body), tab, above,
    fields.map((each) => [each.value, each.checked]), localStorage]);
}"""
# Clears what the page stores during a visit, so that the next visit begins with its own.
NEXT_VISIT = """() => {
  sessionStorage.clear();
  for (const [key, value] of window.keptAtFirst) sessionStorage.setItem(key, value);
}"""
STEP = "Step"
# How the page was opened, and its marks then; the state of each field, list and fold, which
# PUT_BACK restores.
REMEMBER = """([place, opened]) => {
  Object.assign(window, { place, opened, keptAtFirst: Object.entries(sessionStorage) });
  window.atFirst = [...document.querySelectorAll("#sv-tabs :is(input, textarea, select, details)")]
    .map((one) => [one, { value: one.value, checked: one.checked, open: one.open }]);
}"""
OPENED = "window.opened ?? ''"
# As a visitor would; twice, since the options of one list may depend on another.
PUT_BACK = """() => {
  document.activeElement.blur();
  scrollTo(0, 0);
  for (const [one, first] of [...window.atFirst, ...window.atFirst]) {
    const other = Object.keys(first).filter((key) => one[key] !== first[key]);
    for (const key of other) one[key] = first[key];
    if (other.length === 0) continue;
    for (const said of ["input", "change"]) one.dispatchEvent(new Event(said, { bubbles: true }));
  }
}"""
STILL = "document.getAnimations().every((each) => each.playState !== 'running')"
# Another run in the same page, laid out as if nothing had been scrolled or pressed.
ANEW = """async (name) => {
  const player = window.specviz["sv-step"];
  document.activeElement.blur();
  getSelection().empty();
  scrollTo(0, 0);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await player.load(name);
}"""


class Looker(Visit):
    """A visitor for read-only tests: opens recorded runs, steps, and resizes the window.

    The page may be open from an earlier read-only test; then another run is opened in it, as from
    the list. Tests that change fields restore them. opened: the page's state when it was opened;
    empty if it is not open.
    """

    def __init__(self, page: Page, url: str, opened: str) -> None:
        super().__init__(page, url)
        self.opened = opened

    def arrive(self, opening: Callable[[], object], place: str) -> None:
        """Open the page in this way, unless an earlier test has left it open there."""
        if not self.opened or self.page.evaluate("window.place") != place:
            opening()
            self.opened = self.page.evaluate(MARKS)
            self.page.evaluate(REMEMBER, [place, self.opened])

    def put_back(self) -> None:
        """Restore every field of the tabs to its value when the page was opened."""
        self.page.mouse.move(0, 0)
        self.page.evaluate(PUT_BACK)

    def look(self, name: str = "01-chain") -> Page:
        """Open a recorded run at its first guesses."""
        self.arrive(self.open, STEP)
        self.show(name)
        return self.page

    def untouched(self) -> bool:
        """Return whether the page is as it was opened, except for run, step and focus."""
        if not self.opened or self.errors:
            return False
        self.page.evaluate(NEXT_VISIT)
        return self.page.evaluate(MARKS) == self.opened
