"""The map of drafters by domain: the plan and its order, cells from real runs, and sentences."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch
from recorded_runs import LANES, read

from specviz import engine
from specviz.bench import measure
from specviz.bench.measure import TimedCall
from specviz.bench.methods import Outcome, drafter_names
from specviz.compare import domains
from specviz.compare.domains import Cell, Plan, choices, recorded
from specviz.compare.domains import run as domain_run
from specviz.compare.domains.heatmap import MEAN, HeatMap, caution, fastest_by_domain, view
from specviz.compare.domains.run import Measurements, TurnMeasured, TurnStarted, run
from specviz.drafters.ngram import NGram
from specviz.models import devices
from specviz.settings.settings import BadSettings
from specviz.shipped import measured, prompts
from specviz.trace.file import Trace
from specviz.trace.metrics import summary
from specviz.ui.compare import domains as page
from specviz.ui.compare.domains import FORM, USUAL, Live, Map, planned, recorded_maps, size
from specviz.ui.compare.race import recorded as races
from specviz.ui.task import JobContext, Machine, StopFlag


@pytest.fixture
def two_domains(monkeypatch):
    """Provide short prompts in two domains."""
    texts = {
        "stories": ["The cat sat on the mat.", "The red house."],
        "repeat": [tiny.PROMPT, "The dog saw the cat."],
    }
    monkeypatch.setattr(domains, "prompts", lambda: texts)
    monkeypatch.setattr("specviz.bench.methods.prompts", lambda: texts)
    return texts


@pytest.fixture
def drafters(tiny_draft):
    """Return drafters by their names in the catalogue."""
    card = replace(tiny_draft.card, name="draft-model")
    return {"ngram": NGram(), "draft-model": type(tiny_draft)(tiny_draft.model, card)}


PLAN = Plan(("ngram", "draft-model"), prompts=2, new_tokens=12, order_seed=3)


# Plans


def test_measurement_order_has_every_turn_once_and_depends_on_its_seed():
    plan = Plan(("ngram", "medusa", "eagle"), prompts=2, order_seed=5)
    assert len(plan.order) == len(set(plan.order)) == 3 * 5 * 2
    assert plan.order == replace(plan, order_seed=5).order
    orders = {replace(plan, order_seed=seed).order for seed in range(20)}
    assert len(orders) == 20
    assert all(set(order) == set(plan.order) for order in orders)
    firsts = {plan.drafter_first(place) for place in range(1, 30)}
    assert firsts == {True, False}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"drafters": ()}, "at least one drafter"),
        ({"drafters": ("<b>x</b>",)}, "House has no drafter called '<b>x</b>'"),
        ({"drafters": ("ngram", "ngram")}, "only once"),
        ({"prompts": 0}, "between 1 and 6"),
        ({"prompts": 7}, "between 1 and 6"),
        ({"new_tokens": 7}, "between 8 and 64"),
        ({"new_tokens": 65}, "between 8 and 64"),
        ({"temperature": -0.1}, "between 0 and 2"),
        ({"temperature": 2.1}, "between 0 and 2"),
        ({"order_seed": 2**63}, "64 bits"),
    ],
)
def test_invalid_measurement_plan_raises_readable_error(changes, sentence):
    with pytest.raises(BadSettings, match=sentence):
        replace(PLAN, **changes)


def test_form_shows_the_number_of_runs_or_a_readable_error():
    assert {name for _, name in choices()} == set(drafter_names("house", None))
    assert planned(list(USUAL), 2, 32, 0.7, 4) == Plan(USUAL, 2, 32, 0.7, 4)
    said = size(["ngram", "medusa"], 3, 16, 0, 1)
    assert said.startswith("2 drafters × 5 domains × 3 prompts = 30 pairs of runs.")
    for form, sentence in (
        ((["ngram"], 1.5, 24, 0, 1), "Prompts per domain must be a whole number"),
        ((["ngram"], 1, None, 0, 1), "New tokens"),
        ((["ngram"], 1, 24, "hot", 1), "Temperature"),
        ((["ngram"], 1, 24, float("nan"), 1), "Temperature"),
        (("ngram", 1, 24, 0, 1), "list of names"),
        (([3], 1, 24, 0, 1), "list of names"),
    ):
        with pytest.raises(BadSettings, match=sentence):
            planned(*form)
        assert size(*form).endswith(".")


# Runs


def played(target, drafters, plan, stops=99):
    """Return the results and the events of a measurement. stops: stop after this many turns."""
    board, said = Measurements(), []
    for event in run(target, drafters, plan, lambda: board.done >= stops):
        board.add(event)
        said.append(event)
    return board, said


@pytest.mark.slow
def test_numbers_of_each_cell_equal_those_of_its_runs(tiny_target, drafters, two_domains):
    board, said = played(tiny_target, drafters, PLAN)
    assert [e.turn for e in said if isinstance(e, TurnStarted)] == list(PLAN.order)
    assert [e.turn for e in said if isinstance(e, TurnMeasured)] == list(PLAN.order)
    assert board.done == 8
    assert len(board.cells) == 4
    for cell in board.cells:
        prompts_of = two_domains[cell.domain]
        found = [again(tiny_target, drafters, PLAN, cell, prompt) for prompt in prompts_of]
        passes = sum(numbers["target_passes"] for numbers in found)
        kept = sum(n["accepted_length"] * n["target_passes"] for n in found)
        assert cell.tokens == sum(numbers["tokens"] for numbers in found)
        assert cell.tokens_per_pass == pytest.approx(cell.tokens / passes)
        assert cell.accepted_length == pytest.approx(kept / passes)
        assert cell.prompts == 2
    warm = replace(PLAN, drafters=("draft-model",), prompts=1, temperature=0.9)
    for cell in played(tiny_target, drafters, warm)[0].cells:
        numbers = again(tiny_target, drafters, warm, cell, two_domains[cell.domain][0])
        assert cell.alpha == pytest.approx(numbers["alpha"])
    board, said = played(tiny_target, drafters, PLAN, stops=3)
    assert [e.turn for e in said if isinstance(e, TurnMeasured)] == list(PLAN.order[:3])
    assert sum(cell.prompts for cell in board.cells) == 3, "a stopped one keeps complete turns"


def again(target, drafters, plan, cell, prompt):
    """Return the numbers of another run with the settings of a cell."""
    settings = plan.settings(cell.drafter)
    header, *events = engine.run(target, drafters[cell.drafter], prompt, settings, baseline=False)
    return summary(Trace(header, events))


def test_speedup_of_a_cell_is_the_median_ratio_as_in_bench(monkeypatch):
    def timed(tokens, seconds):
        return TimedCall(Outcome(tokens, tokens), seconds)

    fates = dict.fromkeys(("accepted_length", "alpha", "guesses_per_round"), 0.5)
    monkeypatch.setattr(domain_run, "guess_statistics", lambda _: fates)
    pairs = [
        (timed(10, 1.0), timed(10, 2.0)),
        (timed(10, 1.0), timed(10, 1.0)),
        (timed(9, 1.0), timed(10, 4.0)),
    ]
    cell = domain_run.cell("ngram", "maths", pairs)
    assert (cell.speedup, cell.lowest, cell.highest) == (2.0, 1.0, pytest.approx(3.6))
    ratio = measure._ratio([one for one, _ in pairs], [other for _, other in pairs])
    assert cell.speedup == ratio
    assert (cell.tokens, cell.seconds, cell.prompts) == (29, 3.0, 3)
    assert (cell.plain_slowest, cell.plain_fastest) == (2.5, 10.0)


def test_drafter_that_cannot_run_is_reported_before_anything_is_measured(
    tiny_target, drafters, two_domains, monkeypatch
):
    monkeypatch.setattr(NGram, "begin", lambda *_: (_ for _ in ()).throw(ValueError("not here")))
    with pytest.raises(BadSettings, match=r"^ngram: not here"):
        next(run(tiny_target, drafters, PLAN))
    said = page.stream_domains(PLAN, desk(tiny_target, drafters))
    assert json.loads(next(said))["state"] == "loading"
    with pytest.raises(BadSettings):
        next(said)


# What the map says


def made(speeds, prompts=1, **more):
    """Return cells from {drafter: [speed-up by domain]}."""
    names = ("stories", "python", "repeat")
    return [
        Cell(d, domain, prompts, speed, 2 * speed, 2 * speed + 1, 0.5, 4.0, 100.0, **more)
        for d, row in speeds.items()
        for domain, speed in zip(names, row, strict=True)
        if speed is not None
    ]


def heat_of(speeds, asked=1, **more):
    return HeatMap.from_cells(
        made(speeds, **more), list(speeds), ("stories", "python", "repeat"), asked
    )


def test_oracle_and_uniform_are_never_named_best():
    heat = heat_of({"oracle": [9, 9, 9], "eagle": [1.5, 1.8, 0.7], "ngram": [1.1, 1.1, 0.9]})
    assert fastest_by_domain(heat) == {"stories": "eagle", "python": "eagle", "repeat": "ngram"}
    whole = view(heat)
    names = ("stories", "python", "repeat", MEAN)
    assert not any("best" in whole["cells"][f"oracle {name}"]["speedup"][2] for name in names)
    assert [row["bound"] for row in whole["rows"]] == [True, False, False]


def test_best_and_slower_cells_are_marked_only_in_complete_columns():
    whole = view(heat_of({"ngram": [1.1, 2.4, None], "eagle": [1.5, 2.404, 1.7]}))
    cells = whole["cells"]
    assert cells["eagle stories"]["speedup"] == ("1.50 ×", pytest.approx(0.46, abs=0.01), "best")
    assert cells["ngram python"]["speedup"][2] == cells["eagle python"]["speedup"][2] == "best"
    assert cells["eagle repeat"]["speedup"][2] == ""
    assert "ngram repeat" not in cells
    assert "ngram mean" not in cells
    assert cells["eagle mean"]["speedup"] == ("1.80 ×", pytest.approx(0.67, abs=0.01), "")
    assert cells["eagle python"]["accepted"][0] == "4.81"
    cells = view(heat_of({"ngram": [0.994, 0.996, 3.0]}))["cells"]
    assert cells["ngram stories"]["speedup"] == ("0.99 ×", 0, "slower"), "as displayed"
    assert cells["ngram python"]["speedup"] == ("1.00 ×", 0, "")
    assert cells["ngram repeat"]["speedup"][1] == 1
    assert "slower" not in cells["ngram stories"]["accepted"][2]
    begun = heat_of({"ngram": [1.1, 2.4, 2.0], "eagle": [1.5, 1.8, 1.7]}, asked=3, prompts=2)
    cells = view(begun)["cells"]
    assert cells["ngram stories"]["part"] == "2/3"
    assert not any("best" in cell["speedup"][2] for cell in cells.values())


def test_mean_speedup_assumes_the_same_amount_of_text_per_domain():
    """Plain decoding takes one second per domain; compare with the sum of the drafter's seconds."""
    speeds = {"ngram": [1.0, 1.0, 8.0], "eagle": [2.0, 2.0, 2.0]}
    heat = heat_of(speeds)
    seconds = {name: sum(1 / ratio for ratio in row) for name, row in speeds.items()}
    cells = view(heat)["cells"]
    for name, spent in seconds.items():
        assert cells[f"{name} mean"]["speedup"][0] == f"{3 / spent:.2f} ×"
    assert (cells["ngram mean"]["speedup"][2], cells["eagle mean"]["speedup"][2]) == ("", "best")
    passes = sum(1 / (2 * ratio + 1) for ratio in speeds["ngram"])  # tokens per pass
    assert cells["ngram mean"]["accepted"][0] == f"{3 / passes - 1:.2f}"
    assert f"{3 / passes:.2f} tokens per pass" in cells["ngram mean"]["said"][1]
    mean = cells["ngram mean"]["numbers"]
    assert mean["speedup"] == pytest.approx(3 / seconds["ngram"]), "not rounded, for the download"
    assert mean["accepted_length"] == pytest.approx(3 / passes - 1)
    numbers = cells["ngram stories"]["numbers"]
    assert numbers == {name: getattr(heat.cells["ngram", "stories"], name) for name in numbers}
    calm = heat_of({"ngram": [1.1, 2.4, 2.0]}, plain_slowest=100.0, plain_fastest=140.0)
    assert caution(calm) == ""


# The recorded measurement


def test_recorded_map_names_its_machine_and_those_of_the_races(monkeypatch):
    (one, *_) = recorded()
    assert one.machine in one.where
    headers = [read(path).header for path in LANES]
    assert {each.machine for each in headers if each.target.name == "house"} == races.machines()
    assert races.machines() == {one.machine}, "races and map of one target, on one machine"
    for machines, said in (({"a", one.machine}, True), ({one.machine}, False)):
        monkeypatch.setattr(races, "machines", lambda machines=machines: machines)
        caution = recorded_maps()[0].caution
        assert (f"measured on {one.machine}, the recorded races above on a," in caution) is said
        assert ("only within one measurement" in caution) is said


def test_recorded_machine_is_described_with_its_processor(monkeypatch):
    monkeypatch.setattr(devices, "cpu_name", lambda: "Processor 9")
    assert devices.describe_machine(torch.device("cpu")).endswith(" (Processor 9)")


def test_recorded_map_equals_the_shipped_measurement():
    facts = measured()
    maps = recorded()
    assert [one.temperature for one in maps] == [0, 1]
    for one in maps:
        rows = [row for row in facts["rows"] if row["temperature"] == one.temperature]
        assert len(one.cells) == len(rows) == len(one.drafters) * len(one.domains)
        for cell, row in zip(one.cells, rows, strict=True):
            assert (cell.drafter, cell.domain) == (row["name"], row["domain"])
            assert (cell.speedup, cell.alpha) == (row["ratio_to_plain"], row["alpha"])
            assert cell.accepted_length == row["accepted_length"]
            assert cell.prompts == facts["prompts"]
        said = Map.of(f"{one.temperature:g}", None)
        assert said.badge == "recorded"
        for word in (facts["machine"]["processor"], "3 prompts per domain", "64 new tokens"):
            assert word in said.where
        assert len(said.view["cells"]) == len(rows) + len(one.drafters)
    assert one.domains == tuple(prompts())
    assert recorded(Path("none.json")) == []


# The instrument

VALUES = {"map": "0", "measure": "speedup", "order": "", "live": None}
VALUES |= dict(zip(FORM, (list(USUAL), 1, 24, 0, 1), strict=True))


def heat_map(**changes):
    """Return the map that is drawn: its trace."""
    (trace,) = json.loads(page.respond(VALUES | changes)["heat"])["data"]
    return trace


def test_map_shows_each_cell_and_is_sorted_by_a_column():
    one, cells = recorded()[0], {(c.drafter, c.domain): c for c in recorded()[0].cells}
    whole = heat_map()
    assert whole["x"] == ["Stories", "Dialogues", "Python", "Maths", "Repetition", "Mean"]
    assert [name[-1] == "*" for name in whole["y"]] == [False] * 20 + [True] * 2
    assert f"{cells[one.drafters[0], 'stories'].speedup:.2f}" in whole["text"][0][0]
    assert heat_map(measure="accepted")["text"] != whole["text"]
    assert heat_map(map="1")["text"] != whole["text"]
    words = [row[4] for row in heat_map(order="repeat")["text"][:-2]]
    numbers = [float(re.sub(r"[^0-9.]", "", each)) for each in words]
    assert numbers == sorted(numbers, reverse=True)
    fastest = max(cell.speedup for (_, domain), cell in cells.items() if domain == "repeat")
    assert [each for each in words if each.startswith("<b>")] == [f"<b>{fastest:.2f}</b>"]
    assert "on repetition" in heat_map(order="repeat")["hovertext"][0][4]


def test_invalid_choices_have_a_sentence_and_hostile_texts_stay_text(monkeypatch):
    for name, says in (("2", "no measurement of this name"), ("live", "Nothing was measured")):
        with pytest.raises(ValueError, match=says):
            page.respond(VALUES | {"map": name})
    assert page.respond(VALUES | {"drafters": []})["size"].startswith("Choose at least one")
    for value in (None, {}, {"id": 3}):
        with pytest.raises(ValueError, match="cannot be read"):
            page.received(value)
    hostile = Live("1", ["ngram"], 1, 8, 0.0, 1, "<img src=x>", 0, True, [])
    where = page.respond(VALUES | {"map": "live", "live": hostile})["where"]
    assert "<" not in where
    monkeypatch.setattr("specviz.compare.domains.heatmap.title_of", lambda _: "<b>x</b>")
    assert heat_map()["y"][0] == "&lt;b&gt;x&lt;/b&gt;"


def test_saved_map_is_unrounded_and_in_the_order_shown():
    kind, name, found, data = json.loads(page.saved("CSV", "0", "speedup", "", None))
    assert (kind, name) == ("CSV", "map-of-domains-temperature-0")
    rows = {(row["drafter"], row["domain"]): row for row in found}
    for cell in recorded()[0].cells:
        row = rows[cell.drafter, cell.domain]
        assert row["speedup_times_plain"] == cell.speedup
        assert row["accepted_length_tokens_per_round"] == cell.accepted_length
        assert row["tokens_per_second"] == cell.tokens_per_second
        assert row["alpha"] == cell.alpha
    assert found[0]["title"] == heat_map()["y"][0]
    assert [row.items() - cell.items() for row, cell in zip(found, data["cells"], strict=True)] == [
        {("source", data["source"]), ("where", data["where"])}
    ] * len(found)
    live = Live("1", ["ngram"], 1, 8, 0.0, 1, "=1+1", 0, True, [])
    _, name, found, _ = json.loads(page.saved("CSV", "live", "speedup", "", live))
    assert name == "map-of-domains-live"
    assert found[0]["where"].startswith("=1+1 · 1 prompt")


# Lines for the page


class Here(Machine):
    """A machine that has these models."""

    def load(self, target, names):
        here, drafters = self.device
        return here, [drafters[name] for name in names]


def desk(target, drafters):
    """Return the context of a job that was not stopped."""
    return JobContext(Here((target, drafters)), "7", StopFlag())


def told(tiny_target, drafters, monkeypatch, stops=None):
    """Return all lines, and what the page knows at the end. stops: stop after so many turns."""
    monkeypatch.setattr(page, "PAUSE", 0)
    here, lines, values = desk(tiny_target, drafters), [], {"live": None}
    for sent in page.stream_domains(PLAN, here):
        lines += [json.loads(line) for line in sent.splitlines()]
        here.unwanted.set(sum(line["kind"] == "progress" for line in lines) == stops)
    for each in lines[1:]:
        values |= page.received(each["result"])
    return lines, values


@pytest.mark.slow
def test_live_measurement_is_shown_as_it_grows_and_when_it_is_stopped(
    tiny_target, drafters, two_domains, monkeypatch
):
    lines, values = told(tiny_target, drafters, monkeypatch)
    assert lines[0] == {"kind": "state", "state": "loading", "id": "7"}
    assert [line["done"] for line in lines[1:]] == list(range(9))
    assert lines[1]["sentence"].startswith("Turn 1 of 8: ")
    assert values["map"] == "live"
    one = values["live"].map()
    assert one.badge == "live"
    assert "order seed 3" in one.where
    assert len(one.view["cells"]) == 4 + 2  # and two means
    assert not any("part" in cell for cell in one.view["cells"].values())
    _, values = told(tiny_target, drafters, monkeypatch, stops=3)
    one = values["live"].map()
    assert one.badge == "live, stopped after 3 of 8"
    assert 2 <= len(one.view["cells"]) <= 3


@pytest.mark.slow
def test_stream_contains_the_cells_measured_before_an_error(
    tiny_target, drafters, two_domains, monkeypatch
):
    whole, calls = domain_run.take_turns, []

    def broken(*args):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("broke")
        return whole(*args)

    monkeypatch.setattr(domain_run, "take_turns", broken)
    monkeypatch.setattr(page, "PAUSE", 0)
    texts = []
    with pytest.raises(RuntimeError, match="broke"):
        texts.extend(page.stream_domains(PLAN, desk(tiny_target, drafters)))
    last = page.received(json.loads(texts[-1])["result"])["live"]
    assert last.map().badge == "live, stopped after 2 of 8"
