"""The reason for a guess on the page: shown completely for the shipped run of every family."""

import pytest
from serve import SHIPPED
from test_layout import resize
from test_look import TOPS, at_every_step

# Recorded runs whose drafters give evidence in several rounds.
FAMILIES = [
    name
    for name in SHIPPED
    if name[2:4] in ("04", "05") or ("12" <= name[2:4] <= "26" and name[2:4] != "21")
]
# Where evidence is shown: whether a sentence explains it, and what overflows; otherwise nothing.
SAID = """() => {
  if (!window.specviz.players["sv-step"].frame.panel.why) return null;
  const said = (name) => document.querySelector(".sv-why " + name).innerText;
  const within = document.documentElement.scrollWidth <= innerWidth;
  return [said("h3").startsWith("Why ") && said("p") !== "", within, (OUTSIDE)()];
}"""
# The texts of the section that overflow it or the window.
OUTSIDE = """() => {
  const panel = document.querySelector(".sv-why").getBoundingClientRect();
  const right = Math.min(panel.right, innerWidth) + 1;
  return [...document.querySelectorAll(".sv-why *")]
    .filter((each) => !each.children.length && each.textContent.trim())
    .filter((each) => each.getBoundingClientRect().right > right)
    .map((each) => each.textContent);
}"""


# If there are marks, whether the text shows one.
MARKED = """() => window.specviz.players["sv-step"].frame.panel.why?.marks
  ? document.querySelector(".sv-src") !== null : null"""


# The positions of the player's parts, with the reasons.
BOTH = f"() => [({TOPS})(), ({SAID.replace('OUTSIDE', OUTSIDE)})()]"


@pytest.mark.parametrize("name", FAMILIES)
def test_evidence_for_a_guess_neither_shifts_the_layout_nor_overflows(looker, name):
    page = looker.look(name)
    for width, rounds in ((1280, (1, 2)), (390, (2,))):
        resize(page, width, 1400)
        found = at_every_step(looker, rounds, BOTH)
        assert width < 1280 or len({tops for tops, _ in found}) == 1
        said = [why for _, why in found if why is not None]
        assert said
        assert all(why == [True, True, []] for why in said), said


@pytest.mark.parametrize("name", [name for name in FAMILIES if name.endswith(("suffix", "lmtp"))])
def test_sources_of_guesses_are_marked_in_the_text(looker, name):
    looker.look(name)
    for index in range(1, 6):
        found = at_every_step(looker, [index], MARKED)
        if marks := [marked for marked in found if marked is not None]:
            assert all(marks)
            return
    raise AssertionError("no mark")
