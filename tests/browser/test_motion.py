"""Motion: animations after a step, and a stable layout and memory while stepping."""

import pytest
from made import RUNS
from serve import SHIPPED
from test_layout import EVIDENT, resize

LONGEST = 500  # ms of any motion
OFTEN = ["02-siblings", "08-chat"]
OFTEN += [name for name in SHIPPED if name.endswith(("03-tree", "24-layerskip"))]
RARELY = [name for name in dict.fromkeys([*RUNS, *EVIDENT]) if name not in OFTEN]
# The animations in the player after a step: duration and element of each. They are read in the same
# turn of the event loop, so that a slow machine sees them too.
MOVED = """(step) => {
  window.specviz["sv-step"][step]();
  const all = document.querySelector(".sv").getAnimations({ subtree: true });
  const moving = all.filter((each) => each.playState === "running");
  return moving.map(({ effect }) => {
    const { duration, delay, iterations } = effect.getTiming();
    return [duration * iterations + delay, effect.target.nodeName + "." + effect.target.className];
  });
}"""
STILL = """() => document.querySelector(".sv").getAnimations({ subtree: true })
  .every((each) => each.playState !== "running")"""
WIDE = [".sv-strip", ".sv-caption", ".sv-evidence", ".sv-panel", ".sv-dock", ".sv-time"]
SLIM = [".sv-caption", ".sv-list"]
# Steps through rounds and returns the elements whose position changed (over all rounds; if slim,
# within a round), each kind of shift with the first step where it happened.
SHIFTS = """([selectors, slim, rounds]) => {
  const player = window.specviz["sv-step"];
  player.go(rounds[0], 0);
  const tops = () => selectors.map((selector) =>
    Math.round(document.querySelector(selector).getBoundingClientRect().top + scrollY));
  const bottom = () => document.querySelector(".sv-buttons").getBoundingClientRect().bottom;
  let first = tops(), round = player.cursor.round;
  const found = {};
  while (!document.querySelector("[data-do=next]").disabled) {
    player.next();
    if (!rounds.includes(player.cursor.round)) {
      const next = rounds.find((each) => each > player.cursor.round);
      if (next === undefined) break;
      player.go(next, 0);
    }
    if (slim && player.cursor.round !== round) [first, round] = [tops(), player.cursor.round];
    const moved = tops().map((top, at) => top - first[at]);
    const names = selectors.flatMap((name, at) => (moved[at] ? [name + " " + moved[at]] : []));
    if (slim && Math.abs(bottom() - innerHeight) > 1) names.push("dock not at the bottom");
    const where = "round " + player.cursor.round + ", " + player.frame.step.id;
    if (names.length) found[names.join(", ")] ??= where;
  }
  return found;
}"""
# The whole state of the player: elements, attributes and text, without plotly's own numbering.
STATE = """() => {
  const told = (node) => node.nodeType === Node.TEXT_NODE ? [node.data]
    : [node.nodeName, ...[...node.attributes].map(({ name, value }) => name + "=" + value)
        .filter((pair) => !/^(id|clip-path)=|trace[0-9a-f]{6}|clip[0-9a-f]{6}/.test(pair)).sort(),
       ...[...node.childNodes].flatMap(told)];
  return told(document.querySelector(".sv")).join("\\n");
}"""


def test_steps_are_animated_briefly_forward_and_keys_do_not_wait_for_it(lively, looker):
    mover, kinds = lively, set()
    mover.open("?trace=01-chain&round=1&step=propose-1")  # nothing plays by itself
    while mover.ask("cursor.round") < 3:
        moving = mover.page.evaluate(MOVED, "next")
        assert all(longest <= LONGEST for longest, _ in moving), moving
        if moving:
            kinds.add(mover.ask("frame.step.kind"))
        mover.page.wait_for_function(STILL, timeout=20 * LONGEST)
    assert kinds == {"propose", "score", "judge", "draw", "commit"}
    while mover.ask("cursor.round") > 0:
        assert mover.page.evaluate(MOVED, "back") == [], mover.ask("frame.step.id")
    mover.ask("go(1, 0)")
    keys_during_an_animation_lead_to_the_same_state_as_without_motion(mover, looker)


def keys_during_an_animation_lead_to_the_same_state_as_without_motion(mover, looker):
    calm = looker.look()
    moves = [calm.evaluate(MOVED, "next") for _ in range(20)]
    assert not any(moves), "reduced motion has no animation"
    for kind in ("score", "judge", "draw", "commit"):
        cursors = []
        while mover.ask("frame.step.kind") != kind:
            mover.page.keyboard.press("ArrowRight")
            cursors.append(mover.ask("cursor"))
        assert len({str(cursor) for cursor in cursors}) == len(cursors), "each key is a step"
        looker.ask(f"go({cursors[-1]['round']}, {cursors[-1]['step']})")
        mover.page.wait_for_function(STILL)
        assert mover.page.inner_text(".sv") == calm.inner_text(".sv")
        assert mover.page.evaluate(STATE).split("\n") == calm.evaluate(STATE).split("\n")


@pytest.mark.parametrize("names", [OFTEN, pytest.param(RARELY, marks=pytest.mark.nightly)])
def test_no_step_shifts_the_layout_and_a_narrow_dock_stays_at_the_bottom(looker, names):
    """On a narrow screen, nothing shifts within a round."""
    for name in names:
        page = looker.look(name)
        rounds = range(looker.ask("cursor.round"), looker.ask("rounds"))
        some = sorted({0, *rounds[:3], *rounds[-2:]})
        resize(page, 1280, 900)
        assert page.evaluate(SHIFTS, [WIDE, False, some]) == {}, name
        resize(page, 390, 844)
        assert page.evaluate(SHIFTS, [SLIM, True, list(rounds[:2])]) == {}, name


# Every trip ends at the same frame. So once all lines, figures and compiled functions exist, all
# growth is memory that was kept by mistake. Functions are compiled during the first 10 to 16 trips,
# so the test goes on until four trips add next to nothing. 100 KiB in 200 steps are a third of a
# frame a step; forgotten nodes and listeners are counted separately.
TRIPS = """(trips) => {
  const player = window.specviz["sv-step"];
  for (let trip = 0; trip < trips; trip += 1) {
    for (let at = 0; at < 25; at += 1) player.next();
    for (let at = 0; at < 25; at += 1) player.back();
  }
}"""
GROWN = {"JSHeapUsedSize": 100 * 1024, "Nodes": 50, "JSEventListeners": 20}


def kept(page):
    """Return the page's memory metrics after garbage collection."""
    page.wait_for_url("**round=1&step=propose-1")  # the address follows a little later
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")
    for _ in range(2):
        tools.send("HeapProfiler.collectGarbage")
    metrics = tools.send("Performance.getMetrics")["metrics"]
    tools.detach()
    return {metric["name"]: metric["value"] for metric in metrics}


@pytest.mark.parametrize(
    ("names", "trips"),
    [(["Nodes", "JSEventListeners"], 2), pytest.param(list(GROWN), 4, marks=pytest.mark.nightly)],
)
def test_stepping_to_and_fro_leaves_nothing_behind_in_memory(visit, names, trips):
    page = visit.open("?trace=06-long-chain")
    page.evaluate(TRIPS, trips)
    before, grown = kept(page), {}
    for _ in range(8):
        page.evaluate(TRIPS, trips)
        after = kept(page)
        grown = {n: after[n] - before[n] for n in names if after[n] - before[n] > GROWN[n]}
        before = after
        if not grown:
            break
    assert visit.ask("cursor") == {"round": 1, "step": 0}
    assert grown == {}
