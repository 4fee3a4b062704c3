"""Costs of public model shapes: random networks, measurements in turns, the file, its sentences."""

import json
import re
from dataclasses import replace
from shutil import copy

import gpu_table
import published
import pytest
import torch
from made_costs import BIG, made
from pretend import pretended

from specviz.bench.shapes import PLAIN, ShapeMeasurement, ShapePlan, ShapeRounds, sizes_for
from specviz.bench.shapes import lineup as casting
from specviz.bench.shapes.lineup import build_lineup, random_target, required_memory, weight_bytes
from specviz.bench.sweep import PRODUCT, READ
from specviz.commands.cli import main
from specviz.cost import measured_costs_text
from specviz.cost.figures.sweep import sweep_figure
from specviz.cost.formula import expected_tokens
from specviz.cost.measured_costs import (
    CostFile,
    CostFileError,
    RoundCost,
    load_shipped,
    round_costs,
    shipped_paths,
)
from specviz.cost.roofline import ModelShape
from specviz.cost.sources import Model, Source
from specviz.cost.sweep import PassSamples
from specviz.models.devices import free_memory
from specviz.ui.cost import shapes as section

CPU = torch.device("cpu")
SMALL = BIG | {"hidden_size": 32, "num_hidden_layers": 2}
HEADS = ["eagle", "eagle3", "eagle3-60", "medusa", "mtp", "dflash"]
DRAFTERS = ["draft-model", *HEADS, "layerskip", "ngram"]


def row(name, config):
    return Model(name, f"{name} of the test", config, [Source("made", "assets/none", "S", "")])


def known(patch):
    """Two shapes with the same vocabulary, in place of the public ones."""
    rows = {"big": row("big", BIG), "small": row("small", SMALL)}
    for place in ("specviz.commands.shapes", "specviz.cost.sources"):  # the first imports `models`
        patch.setattr(f"{place}.models", lambda: rows)
    return rows


@pytest.fixture
def shapes(monkeypatch):
    return known(monkeypatch)


@pytest.mark.slow
def test_passes_are_longer_on_a_gpu_unless_sizes_are_named(shapes, tmp_path):
    assert sizes_for(torch.device("cuda"))[-1] == 2048
    written = tmp_path / "costs.json"
    options = ["--contexts", "16", "--rounds", "1", "--device", "cpu"]
    assert main(["shapes", "small", *options, "--json", str(written)]) == 0
    (costs,) = CostFile.from_text(written.read_text(encoding="utf-8")).models
    found = [point.tokens for point in costs.places[0].passes]
    assert found == list(sizes_for(torch.device("cpu"))) == [1, 2, 4, 8, 16, 32, 64]


def test_shapes_command_measures_every_drafter_at_every_context_length(shapes, tmp_path):
    written = tmp_path / "costs.json"
    options = ["--contexts", "16", "24", "--rounds", "2", "--device", "cpu", "--sizes", "1", "8"]
    assert main(["shapes", "big", *options, "--json", str(written)]) == 0
    measured = written.read_text(encoding="utf-8")
    file = CostFile.from_text(measured)
    (costs,) = file.models
    assert [place.context for place in costs.places] == [16, 24]
    assert [one.name for one in costs.drafters] == DRAFTERS
    for place in costs.places:
        assert [point.tokens for point in place.passes] == [1, 8]
        assert [one.drafter for one in place.rounds] == DRAFTERS
        times = [place.plain, *(p.seconds for p in place.passes), *(r.total for r in place.rounds)]
        assert {len(each) for each in times} == {2}
        assert min(min(each) for each in times) > 0.0
    assert len(costs.flops) == len(costs.bandwidth) == 4
    assert file.complete
    repeats = "python -m specviz shapes big --device cpu --contexts 16 24 --sizes 1 8 --rounds 2"
    assert file.command == repeats
    sizes = {one.name: (one.guesses, one.levels) for one in costs.drafters}
    assert sizes["eagle3-60"] == (59, 6)
    assert sizes["ngram"] == (10, 10)  # these texts always contain a match
    keys = set(re.findall(r'"(\w+)":', measured))
    assert {"draft", "check", "rest", "seconds", "plain"} <= keys
    known = ("alpha", "accept", "kept", "speed")  # of random weights there is no acceptance
    assert not [key for key in keys if any(word in key for word in known)]


@pytest.mark.slow
def test_shape_that_does_not_fit_in_memory_is_skipped_and_reported(shapes, monkeypatch, capsys):
    wanted = [
        required_memory(each, CPU, torch.float32, 8 + 64 + 1 + 2)[1] for each in shapes.values()
    ]
    monkeypatch.setattr(casting, "free_memory", lambda device: wanted[1])
    options = ["--contexts", "8", "--rounds", "1", "--device", "cpu"]
    assert wanted[0] > wanted[1]
    assert main(["shapes", "big", *options]) == 2
    assert "MB in float32, and" in capsys.readouterr().err
    assert main(["shapes", "big", "small", *options]) == 0
    told = capsys.readouterr()
    assert "are free on this cpu. It is left out." in told.err
    assert "small of the test takes " in told.err
    assert "Roofline, ms (simulated)" in told.out
    assert "The α from which drafting pays is simulated." in told.out
    assert "big of the test" not in told.out
    assert main(["shapes", "gpt-9"]) == 2
    assert "No shape is called 'gpt-9'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def everybody():
    with pytest.MonkeyPatch.context() as patch:
        return build_lineup(known(patch)["big"], CPU, torch.bfloat16, 100)


@pytest.mark.slow
def test_random_weights_have_the_requested_precision_and_the_announced_size(everybody, shapes):
    for module in everybody.modules:
        assert {weight.dtype for weight in module.parameters()} == {torch.bfloat16}
        assert all(bool(weight.isfinite().all()) for weight in module.parameters())
    model = everybody.target.model
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.model.rotary_emb.inv_freq.dtype == torch.float32
    table = model.model.embed_tokens.weight.float()
    assert len(table.unique(dim=0)) == 300
    assert 0.015 < float(table.std()) < 0.025
    assert everybody.target.eos == ()
    assert everybody.target.card.parameters == ModelShape.of_config(BIG).parameters
    members, wanted = required_memory(everybody.row, CPU, torch.bfloat16, 100)
    weights = sum(map(weight_bytes, everybody.modules))
    cached = 100 * 2 * 2 * 32 * 2 * (8 + 2)  # keys and values, 2 heads of 32, 2 bytes, layers
    assert members == len(everybody.members) == len(DRAFTERS)
    assert wanted == weights + cached + weight_bytes(model)


PARTS = {  # published tensors, and those shared with the target or sized by its vocabulary
    "eagle": (published.eagle_tensors, {"embed_tokens.weight", "fc.bias"}),
    "eagle3": (published.eagle3_tensors, {"d2t", "lm_head.weight"}),
    "medusa": (lambda: published.medusa_tensors(own=False, heads=4), set()),
    "mtp": (
        published.mtp_tensors,
        {"model.layers.8.embed_tokens.weight", "model.layers.8.shared_head.head.weight"},
    ),
    "dflash": (lambda: published.dflash_tensors(layers=5, taps=5), set()),
}


def test_random_heads_have_the_tensors_of_published_layouts():
    """Compare names and shapes for a target of the size that the layouts have in the tests."""
    config = published.SHAPE | {
        "model_type": "llama", "num_hidden_layers": published.LAYERS, "head_dim": published.SIZE,
    }  # fmt: skip
    target = random_target(row("like", config), CPU, torch.float32, 64)
    made = {part.name: part.build(target) for part in casting.HEADS}
    for name, (tensors, but) in PARTS.items():
        ours = {key: tuple(value.shape) for key, value in made[name].state_dict().items()}
        theirs = {key: tuple(value.shape) for key, value in tensors().items()}
        assert ours.keys() == theirs.keys() - (but - ours.keys()), name
        common = theirs.keys() - but
        assert {k: ours[k] for k in common} == {k: theirs[k] for k in common}, name
        assert ours.keys() - but == common, name


@pytest.mark.slow
def test_every_drafter_gets_the_same_text_in_a_shuffled_order(everybody):
    rounds, met = ShapeRounds(everybody, 16, sizes=(1, 4)), []
    orders = [rounds.order(1, number) for number in range(4)]
    assert orders == [rounds.order(1, number) for number in range(4)]
    assert all(set(order) == {1, 4, PRODUCT, READ, PLAIN, *DRAFTERS} for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert orders != [rounds.order(2, number) for number in range(4)]
    for drafting in rounds.drafting.values():
        propose = drafting.session.propose

        def seen(context, room, chance, propose=propose, name=drafting.member.name):
            met.append((name, tuple(context)))
            return propose(context, room, chance)

        drafting.session.propose = seen
    for number in range(3):
        for turn in rounds.order(1, number):
            rounds.take(turn, keep=number > 0)
            assert rounds.run.length == rounds.run.cache.get_seq_length() == 16 + number
        rounds.grow()
    many = len(DRAFTERS)
    texts = [{text for _, text in met[many * n : many * (n + 1)]} for n in range(3)]
    assert [len(each) for each in texts] == [1, 1, 1]
    assert [len(next(iter(each))) for each in texts] == [17, 18, 19]
    place = rounds.costs()
    assert {len(one.draft) for one in place.rounds} == {2}


@pytest.mark.slow
def test_no_measurement_mixes_devices_on_a_simulated_gpu(shapes):
    with pretended():
        rounds = ShapeRounds(
            build_lineup(shapes["big"], torch.device("cuda:0"), torch.float32, 100), 16, (1, 4)
        )
        for turn in (1, 4, PLAIN, *DRAFTERS):
            rounds.take(turn, keep=True)
        rounds.grow()
        assert {each.device.type for each in rounds.cast.target.model.parameters()} == {"cuda"}
    assert {len(each.seen["draft"]) for each in rounds.drafting.values()} == {1}


@pytest.mark.slow
def test_stopped_command_keeps_finished_measurements_in_the_shuffled_order(shapes, monkeypatch):
    seen, met, take = [], [], ShapeRounds.take

    def noted(self, turn, keep):
        met.append((turn, keep))
        take(self, turn, keep)

    monkeypatch.setattr(ShapeRounds, "take", noted)
    plan = ShapePlan((8, 16), 2, seed=3, sizes=(1, 2))
    measuring = ShapeMeasurement(CPU, torch.float32, plan, "made")
    with pytest.raises(ValueError, match="nothing was measured"):
        measuring.file()
    turns = len((1, 2)) + 3 + len(DRAFTERS)
    for step in measuring.steps(shapes["big"], lambda: len(seen) == 2 * turns + 1):
        seen.append(step)
    rounds = ShapeRounds(build_lineup(shapes["big"], CPU, torch.float32, plan.longest), 8, (1, 2))
    assert met[: 2 * turns] == [(turn, n > 0) for n in range(2) for turn in rounds.order(3, n)]
    file = measuring.file()
    (place,) = file.models[0].places
    assert place.context == 8
    assert not file.complete
    assert "stopped" in measured_costs_text.caution(file, place)
    assert CostFile.from_text(file.to_text()) == file


@pytest.mark.slow
def test_out_of_memory_keeps_finished_measurements(shapes, monkeypatch, capsys):
    take = ShapeRounds.take

    def short(self, turn, keep):
        if self.context == 16:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        take(self, turn, keep)

    monkeypatch.setattr(ShapeRounds, "take", short)
    options = ["--contexts", "8", "16", "--rounds", "1", "--device", "cpu"]
    assert main(["shapes", "small", *options]) == 0
    told = capsys.readouterr()
    assert "ran out of memory for small of the test." in told.err
    assert "8 tokens in the cache" in told.out
    assert "16 tokens in the cache" not in told.out


def test_free_memory_is_read_if_the_system_reports_it(tmp_path):
    listed = tmp_path / "meminfo"
    listed.write_text("MemTotal: 9 kB\nMemAvailable:    7 kB\n")
    assert free_memory(CPU, listed) == 7 * 1024
    assert free_memory(CPU, tmp_path / "none") is None


def test_costs_of_a_round_are_in_plain_passes_and_give_a_speedup():
    file = made()
    costs = file.models[0]
    (_, _, first), (_, _, second) = round_costs(costs, costs.places[0])
    parts = (first.draft, first.level, first.check, first.rest, first.total)
    assert parts == pytest.approx((0.5, 0.125, 1.2, 0.3, 2.0))
    assert first.speedup(0.5) == pytest.approx(expected_tokens(0.5, 4) / 2)
    assert measured_costs_text.format_break_even(second) == "never"
    price = RoundCost(0.5, 1.2, 0.3, 4)
    assert price.speedup(price.break_even_alpha) == pytest.approx(1.0)
    assert RoundCost(0.0, 0.9, 0.0, 4).break_even_alpha == 0.0
    assert "takes 90.0 ms" in measured_costs_text.summarize(file, costs, costs.places[0])


def test_measurements_of_a_busy_machine_are_marked():
    file = made()
    place = file.models[0].places[0]
    assert not measured_costs_text.caution(file, place)
    assert "load average was 3.0" in measured_costs_text.caution(replace(file, load=3.0), place)
    slow = [0.1, 0.2, 0.4]
    wild = replace(place, plain=slow, passes=[PassSamples(1, slow)], rounds=[])
    assert "too busy" in measured_costs_text.caution(file, wild)
    first, second = measured_costs_text.headline(file, file.models[0], wild)
    assert first == measured_costs_text.caution(file, wild)
    assert second.startswith("Not reliable, but this was the result: Too little was")


MODEL = ("models", 0)
PLACE = (*MODEL, "places", 0)
BROKEN = [  # keys to a value, none for the whole text; the value; a phrase of the sentence
    ((), "", "not valid JSON"),
    ((), "[" * 100_000, "not valid JSON"),
    ((), "[]", "not a file of measured costs"),
    ((), '{"format": "specviz-sweep", "version": 1}', "not a file of measured costs"),
    ((), '{"format": "specviz-shapes", "version": 1}', "missing"),
    ((), " " * (1 << 19), "at most 256 KiB"),
    (("date",), "yesterday", "not a date"),
    (("dtype",), "int4", "int4"),
    (("threads",), 0, "greater than 0"),
    (("machine",), "a\x1b[2Jb", "printable"),
    (("command",), "x" * 201, "printable"),
    (("versions",), {"torch": 2}, "torch|versions"),
    (("load",), -1.0, "at least 0"),
    (("models",), [], "nothing was measured"),
    (("speedup",), 3.0, "unknown speedup"),
    ((*MODEL, "bytes"), 0, "greater than 0"),
    ((*MODEL, "shape"), {}, "missing"),
    ((*MODEL, "drafters", 0, "levels"), 9, "cannot draft"),
    ((*MODEL, "drafters", 0, "name"), "b", "drafter twice"),
    ((*PLACE, "context"), True, "context"),
    ((*PLACE, "plain"), [], "1 to 1,000"),
    ((*PLACE, "plain"), [float("nan")], "at least 0"),
    ((*PLACE, "passes", 0, "tokens"), 9, "increasing order"),
    ((*PLACE, "passes", 0, "seconds"), [float("inf")], "greater than 0"),
    ((*PLACE, "rounds", 0, "drafter"), "c", "different, known drafters"),
    ((*PLACE, "rounds", 0, "check"), [0.1], "three times"),
    ((*PLACE, "rounds"), [{}] * 65, "missing|too many"),
]


@pytest.mark.parametrize(("path", "value", "sentence"), BROKEN, ids=range(len(BROKEN)))
def test_damaged_cost_file_raises_readable_error(path, value, sentence):
    part = data = json.loads(made().to_text())
    for key in path[:-1]:
        part = part[key]
    if path:
        part[path[-1]] = value
    with pytest.raises(CostFileError, match=sentence):
        CostFile.from_text(json.dumps(data) if path else value)


def asked(**changes):
    """Return the instrument's outputs for a visitor's file."""
    usual = {"file": "own", "text": made().to_text(), "model": "", "context": 0, "alpha": 0.5}
    return section.respond(usual | changes)


def lines_of(table):
    """Return the cells of a table below its headings."""
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_instrument_accepts_a_file_from_a_visitor_and_explains_invalid_values():
    found = asked()
    assert (found["model"].value, found["context"].value) == ("big", 128)
    drafters = found["drafters"]["value"]
    assert [row[-1] for row in drafters["data"]] == [0.97, 0.44]
    shown = drafters["metadata"]["display_value"]
    assert [row[-1] for row in shown] == ["0.97 ×", "0.44 ×"]
    rows = [row[:3] for row in lines_of(found["numbers"])]
    assert rows == [["1", "90.0", "1.00"], ["8", "180", "2.00"]]
    measured = json.loads(found["passes"])["data"][0]
    assert measured["y"] == [90.0, 180.0]
    assert not found["caution"].visible
    for changes, sentence in (
        ({"alpha": 1.5}, "probability from 0 to 1"),
        ({"alpha": None}, "α"),
        ({"text": "no"}, "not valid JSON"),
        ({"text": " "}, "Open a file"),
        ({"file": "../secret"}, "no shipped file"),
        ({"file": []}, "no shipped file"),
        ({"text": " " * (1 << 20) + "1"}, "256 KiB"),
    ):
        with pytest.raises(ValueError, match=sentence):
            asked(**changes)


def test_texts_of_a_file_are_shown_as_they_are():
    found = asked(text=made(machine="<img src=x>|`$").to_text())
    assert "&#60;img src&#61;x&#62;&#124;&#96;&#36;" in found["how"]


def test_shipped_cost_files_are_listed_and_readable():
    shipped = {path.stem: load_shipped(path) for path in shipped_paths()}
    assert shipped
    assert list(section.files()) == list(shipped)
    for name, file in shipped.items():
        for costs in file.models:
            for place in costs.places:
                found = asked(file=name, model=costs.name, context=place.context)
                assert (found["model"].value, found["context"].value) == (costs.name, place.context)
                assert len(found["drafters"]["value"]["data"]) == len(place.rounds)


def test_chart_reaches_beyond_the_free_tokens_and_the_sentence_names_the_limit():
    """At 2 TFLOP/s and 10 GB/s, memory limits a plain pass, and arithmetic one over 512 tokens."""
    file = made()
    costs, place = replace(file.models[0], flops=[2e12]), file.models[0].places[0]
    plain = file.sweep(costs, place).predicted(1).memory
    shares = {1: 1.0, 8: 1.05, 64: 1.3, 512: 3.0}
    for factor, says in ((1.2, "tokens take about as long as a plain one"), (9, "something else")):
        passes = [PassSamples(size, [share * factor * plain] * 3) for size, share in shares.items()]
        found = file.sweep(costs, replace(place, passes=passes))
        sentence = measured_costs_text.knee_sentence(found)
        assert says in sentence
        assert ("over up to 8 tokens" in sentence) == (factor == 1.2)
        chart = sweep_figure(found)
        assert chart.layout.xaxis.tickvals[-1] >= 512
        assert max(chart.data[1].x) == chart.layout.xaxis.tickvals[-1]
        (line,) = (shape for shape in chart.layout.shapes if shape.x0 == shape.x1)
        assert line.x0 == found.free
        assert found.predicted(found.free).bound == "memory"
        assert found.predicted(found.free + 1).bound == "compute"


def test_table_of_a_gpu_is_computed_from_the_results_that_are_there(tmp_path):
    document = gpu_table.PLACE.read_text(encoding="utf-8")
    assert f"{gpu_table.BEGIN}{gpu_table.table(tmp_path)}{gpu_table.END}" in document
    copy(gpu_table.BEFORE, tmp_path / "shapes-llama-3.1-8b.json")
    rows = [line.split(" | ") for line in gpu_table.table(tmp_path).splitlines()[4:]]
    found = {title: (before, reached) for title, _, before, reached in rows}
    assert found["| 8B shape: share of the speed of memory"] == ("0.28", "0.28 |")
    assert found["| EAGLE-3 draft, 8B shape: plain passes"] == ("0.54", "0.54 |")
    assert found["| house: MTP over plain"] == ("not measured", "not measured |")
