"""Why a guess was made, on the page: each family's shipped run says it, and all of it is seen."""

import pytest
from serve import SHIPPED
from test_layout import resize
from test_look import at_every_step, tops

# Recorded runs whose drafters say why; the others' are a model's guesses, or tell it in one round.
FAMILIES = [
    name
    for name in SHIPPED
    if name[2:4] in ("04", "05") or ("12" <= name[2:4] <= "26" and name[2:4] != "21")
]
# Where the drafter says why, whether that is said in words, and what sticks out; else nothing.
SAID = """() => {
  if (!window.specviz.players["sv-step"].frame.panel.why) return null;
  const said = (name) => document.querySelector(".sv-why " + name).innerText;
  const within = document.documentElement.scrollWidth <= innerWidth;
  return [said("h3").startsWith("Why ") && said("p") !== "", within, (OUTSIDE)()];
}"""
# The texts of the section that stick out of it, or of the window.
OUTSIDE = """() => {
  const panel = document.querySelector(".sv-why").getBoundingClientRect();
  const right = Math.min(panel.right, innerWidth) + 1;
  return [...document.querySelectorAll(".sv-why *")]
    .filter((each) => !each.children.length && each.textContent.trim())
    .filter((each) => each.getBoundingClientRect().right > right)
    .map((each) => each.textContent);
}"""


# Where there are marks, whether the text shows one.
MARKED = """() => window.specviz.players["sv-step"].frame.panel.why?.marks
  ? document.querySelector(".sv-src") !== null : null"""


def reasons(visit, rounds):
    """What was asked at the steps of some rounds where the drafter says why."""
    asked = SAID.replace("OUTSIDE", OUTSIDE)
    return [said for said in at_every_step(visit, rounds, asked) if said is not None]


@pytest.mark.parametrize("name", FAMILIES)
def test_why_is_said_nothing_moves_and_nothing_sticks_out(visit, name):
    page = visit.page
    page.set_viewport_size({"width": 1280, "height": 1400})
    visit.open(f"?trace={name}")
    assert len(tops(visit, (1, 2))) == 1
    for width in (1280, 390):
        resize(page, width, 1400)
        said = reasons(visit, (2,))
        assert said
        assert all(each == [True, True, []] for each in said), said


@pytest.mark.parametrize("name", [name for name in FAMILIES if name.endswith(("suffix", "lmtp"))])
def test_places_in_the_text_that_a_guess_came_from_are_marked(visit, name):
    visit.open(f"?trace={name}")
    for index in range(1, 6):
        found = at_every_step(visit, [index], MARKED)
        if marks := [marked for marked in found if marked is not None]:
            assert all(marks)
            return
    raise AssertionError("no mark")
