"""Live races: their lines, and how they are stopped, fail, are rejected and are queued."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from dataclasses import replace

import pytest
import tiny
from reader import stop_jobs
from reader import texts as texts_of
from test_runs import told

from specviz.compare import run as racing
from specviz.compare.lanes import lane_labels, shared_settings
from specviz.compare.race import PLAIN, Lane, LaneEvent, LaneProgress, Race
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Committed
from specviz.ui.compare.race import lines as recording
from specviz.ui.compare.race import live
from specviz.ui.task import JobContext, Machine
from specviz.ui.worker import Worker

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(temperature=0), max_new_tokens=12, gamma=3)


@pytest.fixture(scope="module", autouse=True)
def once():
    """Run every lane once, however short it is; repeated lanes have their own tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(racing, "MAX_TURNS", 1)
        yield


@pytest.fixture(scope="module")
def runs():
    return Worker(Machine("cpu"))


@pytest.fixture(scope="module")
def race(pair):
    """Return a function that makes races on the tiny models."""

    def made(settings=GREEDY, order_seed=1, target=None):
        small = str(pair[1])
        lanes = (Lane(pair[1].name, small, settings), Lane("n-gram", "ngram", settings))
        return Race(tiny.PROMPT, str(target or pair[0]), lanes, order_seed)

    return made


async def heard(runs, race, visitor="me", number=1.0):
    return [text async for text in texts_of(runs, live.live(race), visitor, number)]


def texts(*args):
    return asyncio.run(heard(*args))


def kinds(text):
    """Return the kinds of the lines, or their states; progress lines are omitted."""
    found = [line.get("state", line["kind"]) for line in told(text)]
    return [kind for kind in found if kind != "progress"]


def of(text, kind):
    """Return all lines of a kind."""
    return [line for line in told(text) if line["kind"] == kind]


def test_notice_about_the_prompt_follows_the_race(race, monkeypatch):
    monkeypatch.setattr(live, "HOUSE", race().target)
    monkeypatch.setattr(live, "hint_lines", lambda target, prompt: [f"{json.dumps(prompt)}\n"])
    context = JobContext(Machine("cpu"), "made", lambda: False)
    *_, last = live.stream_race(race(), context)
    assert json.loads(last) == tiny.PROMPT


@pytest.fixture(scope="module")
def whole(runs, race):
    """The texts of a complete race."""
    return texts(runs, race())


def test_output_of_a_race_is_sent_lane_by_lane_and_only_appended(whole):
    assert all(b.startswith(a) and b != a for a, b in itertools.pairwise(whole))
    for line in whole[-1].splitlines():
        json.loads(line, parse_constant=pytest.fail)
    assert kinds(whole[-1]) == [
        "loading", "racing", "race", *["started", "ended", "summary"] * 3, "done",
    ]  # fmt: skip
    order = of(whole[-1], "race")[0]["order"]
    assert order == [line["lane"] for line in of(whole[-1], "started")]
    assert order == [line["lane"] for line in of(whole[-1], "ended")]
    assert [line["place"] for line in of(whole[-1], "started")] == [1, 2, 3]
    assert {line["id"] for line in told(whole[-1]) if "id" in line} == {"1"}


def test_first_line_of_a_race_describes_its_lanes_and_machine(whole, pair):
    (line,) = of(whole[-1], "race")
    assert line.keys() == {
        "kind", "id", "source", "prompt", "where", "settings", "order", "lanes",
    }  # fmt: skip
    assert (line["source"], line["prompt"]) == ("live", tiny.PROMPT)
    assert line["where"].startswith("big · ")
    assert line["where"].endswith(" · float32")
    assert line["settings"] == "T 0 · 12 tokens · seed 1"
    assert line["lanes"] == [
        {"name": "small", "title": "small", "shape": "γ 3"},
        {"name": "n-gram", "title": "N-gram", "shape": "γ 3"},
        {"name": PLAIN, "title": "Plain decoding", "shape": "the baseline"},
    ]
    assert str(pair[0].parent) not in whole[-1], "no line names a folder"


def test_line_of_a_finished_lane_has_seconds_and_tokens_of_each_pass(whole):
    numbers = {lane["name"]: lane for lane in of(whole[-1], "summary")[-1]["whole"]["lanes"]}
    for line in of(whole[-1], "ended"):
        lane = numbers[line["lane"]]
        assert len(line["passes"]) == len(line["brought"])
        assert [sum(map(sum, line["passes"]))] == pytest.approx(lane["runs"], abs=1e-4)
        tokens = list(itertools.chain(*line["brought"]))
        assert len(tokens) == 12
        assert line["brought"][0][0][1] == "plain"
        states = {state for _, state in tokens}
        assert states <= (
            {"plain"} if line["lane"] == PLAIN else {"accepted", "recovered", "bonus", "plain"}
        )


def test_numbers_are_sent_after_every_lane(whole):
    lines = [line["whole"] for line in of(whole[-1], "summary")]
    assert [len(line["lanes"]) for line in lines] == [1, 2, 3]
    assert [line["texts"]["same"] for line in lines] == [None, True, True]
    points = {lane["name"]: lane["point"] for lane in lines[-1]["lanes"]}
    assert points[PLAIN] is None
    assert points["small"].keys() == {
        "alpha", "gamma", "guesses", "c", "verify", "tokens", "tokens_per_pass", "speedup",
        "predicted",
    }  # fmt: skip


def test_lanes_with_the_same_drafter_have_different_labels():
    many = [[rank] for rank in range(40)]
    changes = [{}, {"candidates": "greedy"}, {}, {"confidence": 0.25, "rank_paths": many}]
    lanes = [Lane(str(at), "ngram", replace(GREEDY, **c)) for at, c in enumerate(changes)]
    found = [one.shape for one in lane_labels(Race(tiny.PROMPT, "house", tuple(lanes), 1)).values()]
    head = "γ 3 · candidates"
    assert found[0] == f"{head} sampled · confidence 0 · rank paths []"
    assert found[1] == f"{head} greedy · confidence 0 · rank paths []"
    assert found[2] == f"{found[0]} · no. 2"
    assert found[3].startswith(f"{head} sampled · confidence 0.25 · rank paths [[0], [1], ")
    assert found[3].endswith("…")
    assert len(set(found)) == 5
    some = Settings(Sampling(0.8, 40, 0.9), seed=3, max_new_tokens=1)
    assert shared_settings(some) == "T 0.8 · top-k 40 · top-p 0.9 · 1 token · seed 3"


def test_race_progress_is_sent_at_most_twice_a_second(runs, race, monkeypatch):
    monkeypatch.setattr(recording, "PAUSE", 1000.0)
    assert len(of(texts(runs, race())[-1], "progress")) == 1
    monkeypatch.setattr(recording, "PAUSE", -1.0)
    each = of(texts(runs, race())[-1], "progress")
    assert [line["tokens"] for line in each if line["lane"] == PLAIN] == list(range(1, 13))
    for lane in ("small", "n-gram", PLAIN):
        seconds = [line["seconds"] for line in each if line["lane"] == lane]
        assert seconds == sorted(seconds)


def test_no_output_is_prepared_while_a_lane_runs(runs, race, monkeypatch):
    """Neither scenes nor numbers are computed between two events of a lane."""
    busy, whole = [], racing.run

    def watched(*args):
        for event in whole(*args):
            busy.append(isinstance(event, LaneProgress | LaneEvent))
            yield event

    def quiet(work):
        def lane_labels(*args):
            assert not busy[-1]
            return work(*args)

        return lane_labels

    monkeypatch.setattr(racing, "run", watched)
    for name in ("numbers", "ended", "added_tokens"):
        monkeypatch.setattr(recording, name, quiet(getattr(recording, name)))
    assert kinds(texts(runs, race())[-1])[-1] == "done"


def test_stopped_race_keeps_every_lane_that_started(runs, race, monkeypatch):
    asked, run, passes = race(replace(GREEDY, max_new_tokens=40)), racing.run, []

    def stopping(*args):
        for event in run(*args):
            yield event
            if isinstance(event, LaneProgress) and event.lane == asked.order[1]:
                passes.append(event)
            if len(passes) == 2:
                stop_jobs(runs.line, "me")

    monkeypatch.setattr(racing, "run", stopping)
    text = texts(runs, asked)[-1]
    assert kinds(text)[2:] == ["race", *["started", "ended", "summary"] * 2, "stopped"]
    last = of(text, "summary")[-1]["whole"]
    assert last["texts"]["same"] is None
    assert {lane["name"] for lane in last["lanes"]} == set(asked.order[:2])
    assert len(of(text, "ended")[-1]["passes"]) == 2
    assert len(runs.line) == 0


def test_invalid_race_is_reported_in_one_sentence(runs, race):
    for changes, word in (
        ({"target": "no/such folder"}, "no/such folder"),
        ({"settings": Settings(rule="none")}, "There is no rule"),
        ({"settings": Settings(max_new_tokens=4000)}, "tokens"),
    ):
        *_, last = told(texts(runs, race(**changes))[-1])
        assert last["kind"] == "error"
        assert re.search(rf"{word}.*\.$", last["sentence"])


def test_error_in_a_lane_keeps_earlier_lanes(runs, race, monkeypatch, caplog):
    whole, asked = racing.run, race()

    def breaking(*args):
        for event in whole(*args):
            yield event
            here = isinstance(event, LaneEvent) and event.lane == asked.order[1]
            if here and isinstance(event.event, Committed):
                raise MemoryError("secret")

    assert asked.order[1] != PLAIN
    monkeypatch.setattr(racing, "run", breaking)
    text = texts(runs, asked)[-1]
    assert kinds(text)[2:] == ["race", "started", "ended", "summary", "started", "error"]
    assert "ran out of memory" in told(text)[-1]["sentence"]
    assert "secret" not in text
    assert "secret" in caplog.text
