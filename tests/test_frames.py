"""Frames: pure functions of trace and cursor, without spoilers, and with consistent numbers."""

import itertools
import json
import random
from dataclasses import replace

import pytest
from made import ODD, Recipe, made

from specviz.frames import Cursor, Scene, frame, frames
from specviz.frames.caption import is_same
from specviz.frames.inspector import inspector
from specviz.frames.numbers import (
    format_draw,
    format_mass,
    format_nonzero,
    format_ratio,
    format_seconds,
    parse_number,
    round_for_text,
)
from specviz.frames.scene import flat, word
from specviz.frames.tree import verdicts_at
from specviz.glossary import GLOSSARY
from specviz.shipped import ASSETS
from specviz.trace.events import Baseline, Committed, Drew, Finished, Judged, Proposed, Scored
from specviz.trace.file import Trace

RECIPES = {
    "chain": Recipe(rounds=12),
    "siblings": Recipe(shape=(3, 2, 2, 1), rounds=12),
    "without replacement": Recipe(shape=(3, 2, 2), rounds=12, replaced=True),
    "point mass": Recipe(point_mass=True, rounds=12),
    "point-mass siblings": Recipe(shape=(3, 2), point_mass=True, rounds=12),
    "temperature 0": Recipe(greedy=True, rounds=12),
    "nothing drafted": Recipe(drafts=False, rounds=4),
}
SAMPLED = ("chain", "siblings", "without replacement", "point mass", "point-mass siblings")
ORDER = ["propose", "score", "judge", "draw", "commit"]
STEP_OF = dict(zip((Proposed, Scored, Judged, Drew, Committed), ORDER, strict=True))
LAST = {}
SHIPPED = {path.stem: path for path in sorted((ASSETS / "traces").glob("*.jsonl"))}


def run(name):
    """Return a made-up run, or the first rounds of a shipped one."""
    if name in RECIPES:
        return made(RECIPES[name])
    trace = Trace.read(SHIPPED[name])
    first = next(event.round for event in trace.events if isinstance(event, Judged))
    events = [event for event in trace.events if getattr(event, "round", 0) <= max(6, first)]
    return Trace(trace.header, events)


# Recorded runs that differ in what a frame can hold: chains, trees, chats, and every rule.
USUAL = (
    "01-chain", "02-ngram", "03-tree", "04-medusa", "09-greedy", "11b-block", "13-eagle2",
    "14-blockwise", "21-ngram-dialogue", "23-lookahead", "27-smollm2-chat", "31-served",
)  # fmt: skip


def is_sampled(name):
    """Return whether a run is sampled and judged from the root; see test_leaf_first_screen."""
    if name in RECIPES:
        return name in SAMPLED
    with SHIPPED[name].open(encoding="utf-8") as file:
        return json.loads(file.readline())["rule"] not in ("greedy", "block")


OTHERS = [pytest.param(name, marks=pytest.mark.nightly) for name in SHIPPED if name not in USUAL]
RUNS = [*RECIPES, *USUAL, *OTHERS]
SAMPLED_RUNS = [each for each in RUNS if is_sampled(getattr(each, "values", [each])[0])]


@pytest.fixture(scope="module", params=RUNS)
def trace(request):
    return run(request.param)


@pytest.fixture(scope="module", params=SAMPLED_RUNS)
def sampled(request):
    return run(request.param)


def scenes(trace):
    """Return the rounds of a trace as scenes, cached for consecutive tests of the same trace."""
    if LAST.get("trace") is not trace:
        found = [Scene.of(trace, index) for index in range(len(trace.rounds))]
        LAST.clear()
        LAST.update(trace=trace, scenes=found, many=len(trace.events))
    assert LAST["many"] == len(trace.events)
    return LAST["scenes"]


def shots(trace):
    """Return the scene and the frames of each round, cached for consecutive tests."""
    found = scenes(trace)
    if "shots" not in LAST:
        LAST["shots"] = [frames(scene) for scene in found]
    return zip(found, LAST["shots"], strict=True)


def steps(trace, kind):
    """Yield every (scene, step, frame) of a kind."""
    for scene, made_of_it in shots(trace):
        for step, shot in zip(scene.steps, made_of_it, strict=True):
            if step.kind == kind:
                yield scene, step, shot


def at_cursors(trace):
    """Yield every frame with its cursor."""
    for index, (_, made_of_it) in enumerate(shots(trace)):
        for step, shot in enumerate(made_of_it):
            yield Cursor(index, step), shot


def numbers(shot):
    """Return the numbers of the sentence by the quantity that they state."""
    return {p["as"]: p["n"] for p in shot["caption"]["parts"] if "n" in p and isinstance(p, dict)}


def until(trace, cursor):
    """Return the trace up to and including the cursor's step."""
    scene = Scene.of(trace, cursor.round)
    step = scene.steps[cursor.step]

    def is_past(event):
        number = getattr(event, "round", -1)
        if number != scene.round.number:
            return number < scene.round.number and not isinstance(event, Finished | Baseline)
        if isinstance(event, Judged) and step.kind == "judge":
            return scene.round.judged.index(event) <= step.at
        return ORDER.index(STEP_OF[type(event)]) <= ORDER.index(step.kind)

    return Trace(trace.header, [event for event in trace.events if is_past(event)])


@pytest.mark.slow
def test_frame_depends_only_on_events_up_to_its_cursor_and_is_json_without_null(trace):
    again = Trace.parse(trace.lines())
    for cursor, shot in at_cursors(trace):
        assert frame(until(again, cursor), cursor) == shot
        assert "null" not in json.dumps(shot, allow_nan=False).replace('"null"', "")


def test_steps_of_a_round_are_in_order(trace):
    for scene in scenes(trace):
        kinds = [step.kind for step in scene.steps]
        assert kinds == sorted(kinds, key=ORDER.index)
        assert kinds[-1] == "commit"
    assert [step.kind for step in Scene.of(trace, 0).steps] == ["score", "draw", "commit"]


@pytest.mark.slow
def test_displayed_p_divided_by_displayed_q_is_the_displayed_probability(sampled):
    seen = 0
    for scene, step, shot in steps(sampled, "judge"):
        judged, text = scene.round.judged[step.at], shot["panel"]["text"]
        told = {name: parse_number(shown) for name, shown in text.items()}
        digits = len(text["threshold"].partition(".")[2].partition("×")[0])
        chance = min(1.0, told["p"] / told.get("q", 1.0))
        assert chance == pytest.approx(told["threshold"], abs=0.51 * 10**-digits)
        assert (told["u"] < told["threshold"]) == judged.accepted
        assert shot["caption"]["is"] == ("accepted" if judged.accepted else "rejected")
        said_of_it = numbers(shot)
        assert said_of_it["u"] == text["u"]
        for name in said_of_it.keys() & {"p", "q"}:  # rounded where they decide nothing
            exact = judged.threshold if "q" not in text else judged.inputs[name]
            rounded = round_for_text(exact, text["threshold" if "q" not in text else name])
            near = not 0.001 <= judged.u <= 0.999
            alike = "q" in text and is_same(judged.inputs["p"], judged.inputs["q"])
            assert near or alike or said_of_it[name] == rounded
        seen += 1
    assert seen


@pytest.mark.slow
def test_sentences_contain_no_negligible_or_misleading_numbers(sampled):
    for kind in ("propose", "judge", "draw"):
        for scene, step, shot in steps(sampled, kind):
            near = kind == "judge" and not 0.001 <= scene.round.judged[step.at].u <= 0.999
            for part in shot["caption"]["parts"]:
                if not isinstance(part, dict) or "n" not in part or part["as"] == "u" or near:
                    continue
                weighed = part["n"].startswith("about ") or parse_number(part["n"]) == 0
                assert weighed or parse_number(part["n"]) >= 0.001
                assert "×10" not in part["n"]
                assert part["n"] not in ("1.00", "1.000", "0.00")


@pytest.mark.slow
def test_every_verdict_can_be_recomputed_from_its_displayed_numbers():
    dice = random.Random(5)
    for _ in range(2000):
        p, q = (10 ** dice.uniform(-9, 0) for _ in "pq")
        threshold = min(1.0, p / q)
        u = dice.choice([dice.random(), threshold * (1 + dice.choice([-1, 1]) * 1e-6) % 1])
        text = format_ratio(p, q, threshold, u).text
        shown = {name: parse_number(value) for name, value in text.items()}
        assert shown["q"] > 0
        assert shown["u"] < 1
        assert (shown["u"] < shown["threshold"]) == (u < threshold)
        chance = min(1.0, shown["p"] / shown["q"])
        digits = len(text["threshold"].partition(".")[2].partition("×")[0])
        assert chance == pytest.approx(shown["threshold"], abs=0.51 * 10**-digits)


def test_numbers_close_to_0_or_1_are_not_displayed_as_0_or_1():
    assert format_mass(0.9999, 0.9999, 0.99996).text["u"] == "0.99996"
    assert format_nonzero(0.00004) == "0.00004"
    assert format_nonzero(3e-9) == "3.00×10⁻⁹"
    assert format_nonzero(0.0) == "0"
    assert parse_number("3.00×10⁻⁹") == 3e-9
    assert format_seconds(0.0312) == "31 ms"
    text = format_draw(0.9999999, 0.99999, 1.0).text
    assert parse_number(text["u"]) < 1
    assert text["hi"] == "1"


def test_displayed_u_is_inside_the_displayed_interval_of_its_token(sampled):
    for scene, _, shot in steps(sampled, "draw"):
        drew = scene.round.drew
        text = shot["panel"]["draw"]["text"]
        lo, u, hi, share = (parse_number(text[name]) for name in ("lo", "u", "hi", "share"))
        assert lo <= u < hi
        assert hi - lo == pytest.approx(share, abs=1e-9)
        shares = shot["panel"]["draw"]["shares"]
        assert sum(part["m"] for part in shares) == pytest.approx(1, abs=1e-4)
        before = sum(p["m"] for p in itertools.takewhile(lambda p: not p.get("hit"), shares))
        assert before == pytest.approx(drew.drawn.lo, abs=1e-4)
        assert numbers(shot)["u"] == text["u"]


def test_table_columns_sum_to_1_and_to_the_residual(trace):
    for *_, shot in itertools.chain(steps(trace, "judge"), steps(trace, "draw")):
        if shot["caption"]["is"] in ("bonus", "plain"):
            continue
        view = shot["panel"]["table"]
        p, q, above, scaled = (sum(row["m"][i] for row in view["rows"]) for i in range(4))
        has_q = any(head.get("of") == "q" for head in view["heads"])
        claimed = parse_number(view["total"]["p"])
        assert (p, q) == (pytest.approx(claimed, abs=1e-4), pytest.approx(float(has_q), abs=1e-4))
        assert claimed == 1 or Scene.of(trace, 0).leaf_first
        assert view["total"]["q"] == ("1" if has_q else "")
        left = parse_number(view["total"]["left"])
        assert above == pytest.approx(left, abs=10 ** -view["digits"])
        if above > 1e-3:
            assert scaled == pytest.approx(1, abs=1e-3)
        assert len(view["rows"]) <= 10


def test_row_of_hidden_tokens_adds_up_their_residuals_token_by_token(sampled):
    """The minimum of the total masses would be larger than the overlap of the hidden tokens."""
    found = 0
    for scene, step, shot in steps(sampled, "judge"):
        rows = scene.round.judged[step.at].rows
        candidate = scene.guesses[scene.round.judged[step.at].node - 1].token
        q = rows.q or [float(token == candidate) for token in rows.tokens]
        shown = {flat(row["w"]) for row in shot["panel"]["table"]["rows"] if "w" in row}
        hidden = [
            max(a - b, 0)
            for token, a, b in zip(rows.tokens, rows.p, q, strict=True)
            if flat(scene.word(token)) not in shown
        ]
        rest = next(row for row in shot["panel"]["table"]["rows"] if "rest" in row)
        assert rest["m"][2] == pytest.approx(rows.rest_residual + sum(hidden), abs=1e-5)
        found += len(hidden)
    assert found


def test_rows_left_out_of_a_table_are_added_to_the_row_of_all_other_tokens(sampled):
    for scene, step, shot in steps(sampled, "judge"):
        view, rows = shot["panel"]["table"], scene.round.judged[step.at].rows
        listed = [row for row in view["rows"] if "w" in row]
        sums = [sum(row["m"][i] for row in view["rows"]) for i in range(4)]
        hidden = set()
        for fold in view["folds"]:
            assert "is" not in view["rows"][fold["at"]], "a row that the sentence is about stays"
            hidden.add(fold["at"])
            shown = [row for at, row in enumerate(view["rows"]) if "w" in row and at not in hidden]
            others = fold["rest"]
            assert others["rest"] + len(shown) == len(rows.tokens) + rows.rest_tokens
            for i, total in enumerate(sums):
                assert sum(row["m"][i] for row in [*shown, others]) == pytest.approx(
                    total, abs=1e-5
                )
            texts = [parse_number(others["t"][i]) for i in (0, 1, 3, 4) if others["t"][i]]
            masses = [others["m"][i] for i in (0, 1, 2, 3) if others["t"][(0, 1, 3, 4)[i]]]
            assert texts == pytest.approx(masses, abs=0.51 * 10 ** -view["digits"])
        assert len(hidden) == len([row for row in listed if "is" not in row])


def test_listed_probabilities_of_a_distribution_sum_to_1():
    found = set()
    for name in ("chain", "nothing drafted"):
        for _, _, shot in itertools.chain(steps(run(name), "score"), steps(run(name), "draw")):
            panel = shot["panel"]
            if panel["kind"] in ("draw", "empty") and panel["rows"]:
                assert sum(row["p"] for row in panel["rows"]) == pytest.approx(1, abs=1e-4)
                assert "rest" in panel["rows"][-1]
                found.add(panel["kind"])
    assert found == {"draw", "empty"}


def test_tokens_after_the_first_12_of_a_distribution_are_in_the_row_of_others():
    scene, step, _ = next(each for each in steps(run("nothing drafted"), "draw"))
    drew = replace(scene.round.drew, tokens=[*range(20)], token=17, p=[0.045] * 20, rest_p=0.1)
    longer = replace(scene, round=replace(scene.round, drew=drew))
    rows = inspector(longer, step)["rows"]
    assert len(rows) == 14
    assert [at for at, row in enumerate(rows) if row.get("hit")] == [12]
    assert rows[-1] == {
        "rest": drew.rest_tokens + 7,
        "p": pytest.approx(0.1 + 7 * 0.045),
        "t": {"p": "0.41"},
    }


def test_long_list_of_guesses_says_how_many_it_shows():
    trace = made(Recipe(shape=(6, 5, 4), rounds=2))
    panels = [shot["panel"] for scene, _, shot in steps(trace, "score") if scene.guesses]
    assert panels
    assert all((each["shown"], each["of"], len(each["rows"])) == (12, 15, 12) for each in panels)


@pytest.mark.slow
def test_node_and_chip_labels_do_not_reveal_a_verdict_before_its_step(trace):
    telling = {"accepted", "rejected", "recovered", "bonus", "unreached"}
    for kind in ("propose", "score"):
        for *_, shot in steps(trace, kind):
            assert shot["caption"]["is"] == kind
            assert not telling & {chip["is"] for chip in shot["chips"]}
            assert not telling & {node["is"] for node in shot["tree"]["nodes"].values()}
            assert "slot" not in shot["tree"]
    for *_, shot in steps(trace, "judge"):
        assert shot["step"]["next"] == "judge "


def test_p_of_all_guesses_appears_at_the_score_step(trace):
    for scene, made_of_it in shots(trace):
        for step, shot in zip(scene.steps, made_of_it, strict=True):
            name = "soft" if scene.greedy else "p"
            nodes = shot["tree"]["nodes"].values()
            assert {name in node for node in nodes} <= {step.kind != "propose"}
            if step.kind == "score":
                assert not scene.greedy or not any({"p", "top"} & node.keys() for node in nodes)
                q = [node.get("q") for node in nodes]
                rows = [row.get("q") for row in shot["panel"]["rows"]] if q else []
                assert rows == q[: len(rows)], "the tree and the list show the same q"


def test_bars_table_and_tree_of_a_later_sibling_show_the_remainder(trace):
    seen = 0
    for scene, step, shot in steps(trace, "judge"):
        judged = scene.round.judged[step.at]
        if scene.greedy or not scene.rejected_before(judged):
            continue
        panel, node = shot["panel"], shot["tree"]["nodes"][str(judged.node)]
        assert panel["labels"]["p"] == "target p′"
        head = {"t": "p′", "of": "p", "left": "yes", "term": "remainder"}
        assert panel["table"]["heads"][0] == head
        assert node["left"] == panel["p"] == round(judged.inputs["p"], 6)
        assert node["p"] == round(scene.round.scored.p[judged.node - 1], 6)
        assert ("left_q" in node) == ("q" in panel["labels"]["left"]) == scene.without_replacement
        if scene.without_replacement:
            assert node["left_q"] == panel["q"] == round(judged.inputs["q"], 6)
            assert panel["labels"]["q"] == "drafter q′"
            assert panel["table"]["heads"][1]["left"] == "yes"
        seen += 1
    made_up = trace.header.target.family == "made-up"
    assert bool(seen) == (len(scenes(trace)[1].children[0]) > 1) or not made_up


def test_remainder_used_for_a_guess_is_hidden_until_its_verdict(trace):
    for scene, made_of_it in shots(trace):
        for step, shot in zip(scene.steps, made_of_it, strict=True):
            fallen = {j.node for j in verdicts_at(scene, step) if scene.rejected_before(j)}
            have = {int(n) for n, node in shot["tree"]["nodes"].items() if "left" in node}
            assert have == (set() if scene.greedy else fallen)
            if step.kind == "judge" and not scene.rejected_before(scene.round.judged[step.at]):
                assert shot["panel"]["labels"]["left"] == []


@pytest.mark.parametrize("name", ["point mass", "13-eagle2", "21-ngram-dialogue"])
def test_frames_of_guesses_that_were_not_sampled_use_p_alone(name):
    trace = run(name)
    for scene, step, shot in steps(trace, "judge"):
        assert "q" not in numbers(shot)
        panel = shot["panel"]
        assert "q" not in panel
        assert "q" not in panel["text"]
        assert panel["labels"]["none"] == "none: not sampled"
        assert not any(head.get("of") == "q" for head in panel["table"]["heads"])
        assert all(row["t"][1] == row["t"][2] == "" for row in panel["table"]["rows"])
        p = scene.round.judged[step.at].inputs["p"]
        assert panel["coin"]["threshold"] == pytest.approx(p, abs=1e-6)


def test_residual_in_the_sentence_is_the_mass_that_is_left(sampled):
    """Without q, recompute it from the target's p: 1 minus the mass of the rejected tokens."""
    for scene, _, shot in steps(sampled, "draw"):
        if scene.round.drew.kind != "recovered":
            continue
        last = scene.round.judged[-1]
        fell = [*scene.rejected_before(last), last]
        shown = numbers(shot)["residual"]
        told = parse_number(shown.removeprefix("about "))
        if last.rows.q is not None:
            assert told == pytest.approx(last.rows.residual, abs=0.006)
            continue
        held = {scene.guesses[j.node - 1].token: scene.round.scored.p[j.node - 1] for j in fell}
        decimals = len(shown.partition(".")[2]) if "." in shown else 2
        assert told == pytest.approx(1 - sum(held.values()), abs=0.6 * 10**-decimals)
        words = [flat(p["w"]) for p in shot["caption"]["parts"] if isinstance(p, dict) and "w" in p]
        assert words[:-1] == [flat(scene.word(token)) for token in held]


@pytest.mark.slow
def test_tree_has_no_place_for_another_token_after_an_accepted_end_token():
    trace = made(Recipe(rounds=20))
    scene, step = next(
        (scene, step)
        for scene, step, shot in steps(trace, "judge")
        if shot["caption"]["is"] == "accepted"
        and not scene.children[scene.round.judged[step.at].node]
    )
    token = scene.guesses[scene.round.judged[step.at].node - 1].token
    ended = Scene(replace(scene.header, eos=[token]), scene.vocabulary, scene.round)
    shots = dict(zip(scene.steps, frames(scene), strict=True))
    assert "slot" in shots[step]["tree"]
    assert "slot" not in dict(zip(ended.steps, frames(ended), strict=True))[step]["tree"]


def test_token_text_is_shown_exactly():
    texts = {
        b" cat": "␣cat",
        b"    if": "␣␣␣␣if",
        b"\n\n": "↵↵",
        "🦊".encode(): "🦊",
        "🦊".encode()[:2]: "<0xF0><0x9F>",
        b"a\xffb": "a<0xFF>b",
        "\u202e".encode(): "<U+202E>",
        "\u200d".encode(): "<U+200D>",
        b"\x00": "<U+0000>",
        b"<b>&amp;`${x}{{y}}": "<b>&amp;`${x}{{y}}",
        b"": "",
    }
    assert {data: flat(word(data)) for data in texts} == texts
    assert word(b"<0xE2>") == ["<0xE2>"], "a token whose text looks like a byte stays text"
    assert word(b"\xe2") == [{"c": "0xE2"}]
    assert all(isinstance(piece, str | dict) for token in ODD for piece in word(token))


def test_every_displayed_state_of_a_guess_is_in_the_glossary(trace):
    for _, shot in at_cursors(trace):
        states = {node["is"] for node in shot["tree"]["nodes"].values()}
        states |= {chip["is"] for chip in shot["chips"]}
        assert states <= GLOSSARY.keys()


@pytest.mark.slow
def test_displayed_table_rows_agree_with_the_residual_in_the_sentence():
    compared = 0
    for recipe in (Recipe(rounds=20, seed=s) for s in range(3)):
        for _, _, shot in steps(made(recipe), "draw"):
            if shot["caption"]["is"] != "recovered":
                continue
            view = shot["panel"]["table"]
            assert numbers(shot)["residual"] == view["total"]["left"]
            if view["digits"] == 4:
                continue  # the columns have no space for more
            for row in view["rows"]:
                p, q, apart, above, scaled = (parse_number(text.lstrip("+")) for text in row["t"])
                if "is" in row:
                    assert p - q == pytest.approx(apart, abs=1e-9)
                    left = parse_number(view["total"]["left"])
                    assert round(above / left, view["digits"]) == pytest.approx(scaled)
                    compared += 1
    assert compared > 10


def test_guesses_appear_one_depth_per_step(trace):
    for scene, step, shot in steps(trace, "propose"):
        depths = {node["depth"] for node in shot["tree"]["nodes"].values()}
        assert depths == set(range(1, step.at + 1))
        listed = {row["at"] for row in shot["panel"]["rows"]} if step.at else depths
        cut = "of" in shot["panel"]  # the newest are listed where reasons stand under the list
        assert listed <= depths if cut else listed == depths
        assert step.at in listed or not step.at
        assert len(shot["tree"]["nodes"]) == sum(0 < d <= step.at for d in scene.depths)
