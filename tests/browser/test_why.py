"""Why a guess was made, on the page: each family's shipped run says it, and all of it is seen."""

import pytest
from serve import SHIPPED
from test_layout import resize
from test_look import tops

# Recorded runs whose drafters say why; the others' are a model's guesses, or tell it in one round.
FAMILIES = [
    name
    for name in SHIPPED
    if name[2:4] in ("04", "05") or ("12" <= name[2:4] <= "26" and name[2:4] != "21")
]
# The texts of the section that stick out of it, or of the window.
OUTSIDE = """() => {
  const panel = document.querySelector(".sv-why").getBoundingClientRect();
  const right = Math.min(panel.right, innerWidth) + 1;
  return [...document.querySelectorAll(".sv-why *")]
    .filter((each) => !each.children.length && each.textContent.trim())
    .filter((each) => each.getBoundingClientRect().right > right)
    .map((each) => each.textContent);
}"""


def reasons(visit, rounds):
    """The steps of some rounds where the drafter says why."""
    for index in rounds:
        visit.ask(f"go({index}, 0)")
        while visit.ask("cursor.round") == index:
            step = visit.ask("cursor.step")
            if visit.ask("frame.panel.why"):
                yield index, step
            visit.ask(f"go({index}, {step + 1})")
            if visit.ask("cursor.step") == step:
                break


@pytest.mark.parametrize("name", FAMILIES)
def test_why_is_said_nothing_moves_and_nothing_sticks_out(visit, name):
    page = visit.page
    page.set_viewport_size({"width": 1280, "height": 1400})
    visit.open(f"?trace={name}")
    assert len(tops(visit, (1, 2))) == 1
    said = 0
    for width in (1280, 390):
        resize(page, width, 1400)
        for _ in reasons(visit, (2,)):
            assert page.inner_text(".sv-why h3").startswith("Why ")
            assert page.inner_text(".sv-why p")
            assert page.evaluate(OUTSIDE) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            said += 1
    assert said >= 2


@pytest.mark.parametrize("name", [name for name in FAMILIES if name.endswith(("suffix", "lmtp"))])
def test_places_in_the_text_that_a_guess_came_from_are_marked(visit, name):
    page = visit.open(f"?trace={name}")
    for index, step in reasons(visit, range(1, 6)):
        visit.ask(f"go({index}, {step})")
        if visit.ask("frame.panel.why.marks"):
            assert page.locator(".sv-src").count()
            return
    raise AssertionError("no mark")
