"""Frames: pure, silent about what is to come, and numbers that agree with each other."""

import itertools
import json
import math
import random
import re
from collections import Counter
from dataclasses import replace

import pytest
from made import ODD, Recipe, made

from specviz.frames import Cursor, Scene, applied, difference, frame, frames
from specviz.frames.evidence.forms import path_to
from specviz.frames.numbers import (
    format_draw,
    format_mass,
    format_nonzero,
    format_ratio,
    format_seconds,
    parse_number,
    round_for_text,
)
from specviz.frames.tree import verdicts_at
from specviz.frames.verdict import is_same
from specviz.frames.words import flat, word
from specviz.glossary import GLOSSARY
from specviz.shipped import ASSETS
from specviz.trace.events import Baseline, Committed, Drew, Finished, Judged, Proposed, Scored
from specviz.trace.file import Trace
from specviz.trace.metrics import accepted_path
from specviz.trace.thresholds import speculative_threshold

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


LAST = {}
SHIPPED = {path.stem: path for path in sorted((ASSETS / "traces").glob("*.jsonl"))}


def run(name):
    """A made-up run, or the first rounds of one that ships."""
    if name in RECIPES:
        return made(RECIPES[name])
    trace = Trace.read(SHIPPED[name])
    first = next(event.round for event in trace.events if isinstance(event, Judged))
    events = [event for event in trace.events if getattr(event, "round", 0) <= max(6, first)]
    return Trace(trace.header, events)


def is_sampled(name):
    """Coins decide, and from the root on; what differs from the leaf up has tests of its own."""
    if name in RECIPES:
        return name in SAMPLED
    scene = Scene.of(run(name), 0)
    return not scene.greedy and not scene.leaf_first


@pytest.fixture(scope="module", params=[*RECIPES, *SHIPPED])
def trace(request):
    return run(request.param)


@pytest.fixture(scope="module", params=filter(is_sampled, [*RECIPES, *SHIPPED]))
def sampled(request):
    return run(request.param)


def scenes(trace):
    """Its rounds as scenes; made once for all tests in a row that ask for the same trace."""
    if LAST.get("trace") is not trace:
        found = [Scene.of(trace, index) for index in range(len(trace.rounds))]
        LAST.clear()
        LAST.update(trace=trace, scenes=found, many=len(trace.events))
    assert LAST["many"] == len(trace.events)
    return LAST["scenes"]


def shots(trace):
    """By round, its scene and its frames; the frames, too, are made once for tests in a row."""
    found = scenes(trace)
    if "shots" not in LAST:
        LAST["shots"] = [frames(scene) for scene in found]
    return zip(found, LAST["shots"], strict=True)


def steps(trace, kind):
    """Every (scene, step, frame) of a kind."""
    for scene, made_of_it in shots(trace):
        for step, shot in zip(scene.steps, made_of_it, strict=True):
            if step.kind == kind:
                yield scene, step, shot


def at_cursors(trace):
    """Every frame, with the cursor at which it is."""
    for index, (_, made_of_it) in enumerate(shots(trace)):
        for step, shot in enumerate(made_of_it):
            yield Cursor(index, step), shot


def said(shot):
    """The sentence as text."""
    parts = shot["caption"]["parts"]
    return "".join(
        p if isinstance(p, str) else p.get("n") or p.get("t") or flat(p["w"]) for p in parts
    )


def numbers(shot):
    """The numbers of the sentence by whose they are."""
    return {p["as"]: p["n"] for p in shot["caption"]["parts"] if "n" in p and isinstance(p, dict)}


def until(trace, cursor):
    """The trace as it was when the cursor's step had just happened."""
    scene = Scene.of(trace, cursor.round)
    step = scene.steps[cursor.step]
    kept = []
    for event in trace.events:
        number = getattr(event, "round", -1)
        if isinstance(event, Finished | Baseline) or number > scene.round.number:
            continue
        if number < scene.round.number or isinstance(event, Proposed):
            kept.append(event)
        elif isinstance(event, Scored):
            kept += [event] if step.kind != "propose" else []
        elif isinstance(event, Judged):
            place = scene.round.judged.index(event)
            fallen = step.kind in ("draw", "commit") or (step.kind == "judge" and place <= step.at)
            kept += [event] if fallen else []
        elif isinstance(event, Drew):
            kept += [event] if step.kind in ("draw", "commit") else []
        elif isinstance(event, Committed):
            kept += [event] if step.kind == "commit" else []
        else:
            kept.append(event)
    return Trace(trace.header, kept)


@pytest.mark.slow
def test_the_same_trace_gives_the_same_frames(trace):
    again = Trace.parse(trace.lines())
    for cursor, shot in at_cursors(trace):
        assert frame(again, cursor) == shot


@pytest.mark.slow
def test_a_frame_knows_nothing_that_happens_after_it(trace):
    for cursor, shot in at_cursors(trace):
        assert frame(until(trace, cursor), cursor) == shot


def test_a_frame_is_plain_json_without_null(trace):
    for _, shot in at_cursors(trace):
        text = json.dumps(shot, allow_nan=False)
        assert "null" not in text.replace('"null"', "")


def test_patches_from_the_first_frame_restore_every_frame(trace):
    for _, (first, *others) in shots(trace):
        for shot in others:
            assert applied(first, json.loads(json.dumps(difference(first, shot)))) == shot


def test_a_patch_between_panels_of_different_kinds_leaves_nothing_behind():
    old = {"a": {"kind": "x", "coin": {"u": 1}}, "b": 1}
    new = {"a": {"kind": "y", "facts": []}, "c": {"d": {}}}
    assert applied(old, difference(old, new)) == new
    assert difference(old, old) == {}


def test_the_steps_of_a_round_come_in_order(trace):
    order = ["propose", "score", "judge", "draw", "commit"]
    for scene in scenes(trace):
        kinds = [step.kind for step in scene.steps]
        assert kinds == sorted(kinds, key=order.index)
        assert kinds[-1] == "commit"
    assert [step.kind for step in Scene.of(trace, 0).steps] == ["score", "draw", "commit"]


@pytest.mark.slow
def test_shown_p_divided_by_shown_q_is_the_shown_chance_and_u_is_on_its_side(sampled):
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
        for name in said_of_it.keys() & {"p", "q"}:  # the sentence rounds off what nobody weighs
            exact = judged.threshold if "q" not in text else judged.inputs[name]
            rounded = round_for_text(exact, text["threshold" if "q" not in text else name])
            near = not 0.001 <= judged.u <= 0.999
            alike = "q" in text and is_same(judged.inputs["p"], judged.inputs["q"])
            assert near or alike or said_of_it[name] == rounded
        seen += 1
    assert seen


def test_a_verdict_says_the_comparison_and_it_holds(sampled):
    for scene, step, shot in steps(sampled, "judge"):
        judged, text = scene.round.judged[step.at], said(shot)
        coin, _, bar = text.partition("The coin at ")[2].partition(" below ")
        assert coin.endswith(" is" if judged.accepted else " is not")
        assert bar.endswith(": kept." if judged.accepted else ": rejected.")
        chance = re.search(r"keep with chance (?:p′?, )?(about [01]|[^ ]+)\. The coin", text)[1]
        assert bar.partition(":")[0] == ("that" if chance.startswith("about") else chance)
        if chance.startswith("about"):
            assert abs(judged.threshold - int(chance[-1])) < 0.006
            assert 0.001 <= judged.u <= 0.999, "so near that about 0 would hide the verdict"
        else:
            assert (parse_number(coin.split()[0]) < parse_number(chance)) == judged.accepted


@pytest.mark.slow
def test_a_sentence_says_no_number_that_nobody_can_weigh(sampled):
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


@pytest.mark.parametrize(
    ("p", "q", "u", "sentence"),
    [
        (
            0.12,
            0.4,
            0.71,
            (
                "The target gives ␣cat 0.12, the draft gave it 0.40: keep with chance 0.30. "
                "The coin at 0.71 is not below 0.30: rejected."
            ),
        ),
        (
            0.93,
            0.9,
            0.24,
            (
                "The target gives ␣cat 0.93, the draft gave it only 0.90: keep with chance 1. "
                "The coin at 0.24 is below 1: kept."
            ),
        ),
        (
            0.000357,
            0.000575,
            0.75,
            (
                "The target gives ␣cat about 0, only 0.62 times what the draft gave it: "
                "keep with chance 0.62. The coin at 0.75 is not below 0.62: rejected."
            ),
        ),
        (
            2.4e-8,
            0.00024,
            0.26,
            (
                "The target gives ␣cat about 0, the draft gave it far more: "
                "keep with chance about 0. The coin at 0.26 is not below that: rejected."
            ),
        ),
        (
            0.0000003,
            0.45,
            0.0000002,
            (
                "The target gives ␣cat about 0, the draft gave it 0.450: "
                "keep with chance 6.67×10⁻⁷. The coin at 2.00×10⁻⁷ is below 6.67×10⁻⁷: kept."
            ),
        ),
        (
            0.4463155,
            0.4463161,
            0.36,
            (
                "The target gives ␣cat 0.45, the draft gave it the same but for rounding: "
                "keep with chance about 1. The coin at 0.36 is below that: kept."
            ),
        ),
        (
            1.0,
            1.0,
            0.004,
            (
                "The target gives ␣cat 1, the draft gave it the same: keep with chance 1. "
                "The coin at 0.004 is below 1: kept."
            ),
        ),
        (
            0.9996,
            0.9971,
            0.5,
            (
                "The target gives ␣cat about 1, the draft gave it less: "
                "keep with chance 1. The coin at 0.50 is below 1: kept."
            ),
        ),
        (
            0.0,
            0.19,
            0.07,
            (
                "The target gives ␣cat 0, the draft gave it 0.19: keep with chance 0. "
                "The coin at 0.07 is not below 0: rejected."
            ),
        ),
    ],
)
def test_a_verdict_in_words_for_every_kind_of_number(p, q, u, sentence):
    assert said(judged_so({"p": p, "q": q}, u)) == sentence


def judged_so(inputs, u):
    """The frame of a chain's first verdict, ␣cat's, with these numbers."""
    scene = Scene.of(made(RECIPES["chain"]), 1)
    cat = next(token for token, data in scene.vocabulary.items() if data == b" cat")
    scene.round.proposed.guesses[0] = replace(scene.guesses[0], token=cat)
    first = scene.round.judged[0]
    chance = speculative_threshold(inputs) if "q" in inputs else inputs["p"]
    scene.round.judged[0] = replace(first, inputs=inputs, u=u, threshold=chance)
    shown = dict(zip(scene.steps, frames(scene), strict=True))
    return next(shot for step, shot in shown.items() if step.kind == "judge")


@pytest.mark.slow
def test_any_p_q_and_u_can_be_recomputed_from_what_is_shown():
    dice = random.Random(5)
    for _ in range(4000):
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


def test_numbers_near_one_and_near_zero_are_not_shown_as_one_and_zero():
    assert format_mass(0.9999, 0.9999, 0.99996).text["u"] == "0.99996"
    assert format_nonzero(0.00004) == "0.00004"
    assert format_nonzero(3e-9) == "3.00×10⁻⁹"
    assert format_nonzero(0.0) == "0"
    assert parse_number("3.00×10⁻⁹") == 3e-9
    assert format_seconds(0.0312) == "31 ms"


def test_a_draw_lies_in_the_shown_interval_whose_width_is_the_shown_share(sampled):
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


def test_a_recovery_says_why_it_is_drawn_so_and_from_what(sampled):
    for scene, _, shot in steps(sampled, "draw"):
        if scene.round.drew.kind != "recovered":
            continue
        last = scene.round.judged[-1]
        assert said(shot).startswith("So that every token keeps the target's own chance, ")
        assert ("p without" in said(shot)) == (last.rows.q is None)
        if last.rows.q is not None:
            law = "what p has" if not scene.rejected_before(last) else "what p′ has"
            assert law in said(shot)
            assert ("above q′" in said(shot)) == (
                scene.replaced and bool(scene.rejected_before(last))
            )
        shown = numbers(shot)["residual"]
        left = math.prod(j.rows.residual for j in [*scene.rejected_before(last), last])
        left = left if last.rows.q is None else last.rows.residual
        assert parse_number(shown.removeprefix("about ")) == pytest.approx(left, abs=0.006)


def test_a_rule_that_changes_the_law_does_not_say_that_it_keeps_it():
    scene = Scene.of(made(RECIPES["chain"]), 1)
    told = replace(scene, header=replace(scene.header, lossless=False))
    draws = [said(s) for s in frames(told) if s["caption"]["is"] == "recovered"]
    assert draws == [text for text in draws if text.startswith("The new one is drawn from ")]
    assert draws


def test_an_interval_that_touches_one_is_shown_below_one():
    text = format_draw(0.9999999, 0.99999, 1.0).text
    assert parse_number(text["u"]) < 1
    assert text["hi"] == "1"


def tables(trace):
    """The table of every verdict and of every recovered token."""
    for kind in ("judge", "draw"):
        for *_, shot in steps(trace, kind):
            if shot["caption"]["is"] not in ("bonus", "plain"):
                yield shot["panel"]["table"]


def test_columns_sum_to_one_and_to_the_residual(trace):
    for view in tables(trace):
        p, q, above, scaled = (sum(row["m"][i] for row in view["rows"]) for i in range(4))
        has_q = any(head.get("of") == "q" for head in view["heads"])
        claimed = parse_number(view["total"]["p"])
        assert (p, q) == (pytest.approx(claimed, abs=1e-4), pytest.approx(float(has_q), abs=1e-4))
        assert claimed == 1 or Scene.of(trace, 0).leaf_first
        assert view["total"]["q"] == ("1" if has_q else "")
        assert above == pytest.approx(
            parse_number(view["total"]["left"]), abs=10 ** -view["digits"]
        )
        if above > 1e-3:
            assert scaled == pytest.approx(1, abs=1e-3)
        assert len(view["rows"]) <= 10


def test_hidden_rows_are_lumped_token_by_token(sampled):
    """The rest's overlap is not the min of its lumped masses: its residual must be its own."""
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


@pytest.mark.slow
def test_the_recovered_token_gets_its_row_only_when_it_is_drawn():
    added = 0
    for recipe in (Recipe(rounds=40, seed=s) for s in range(3)):
        for scene in scenes(made(recipe)):
            drew = scene.round.drew
            if drew is None or drew.kind != "recovered":
                continue
            shots = frames(scene)
            at = next(i for i, s in enumerate(scene.steps) if s.kind == "draw")
            before, after = (shots[i]["panel"]["table"]["rows"] for i in (at - 1, at))
            assert not any(row.get("is") == "drawn" for row in before)
            assert [row["w"] for row in after if row.get("is") == "drawn"] == [
                scene.word(drew.token)
            ]
            words = [row.get("w") for row in before]
            added += scene.word(drew.token) not in words
            kept = [row["w"] for row in after if "w" in row and row["w"] in words]
            assert kept == [w for w in words if w is not None]
    assert added, "no run of these drew a token without a row"


@pytest.mark.slow
def test_labels_before_a_verdict_do_not_tell_it(trace):
    telling = {"accepted", "rejected", "recovered", "bonus", "unreached"}
    for kind in ("propose", "score"):
        for *_, shot in steps(trace, kind):
            assert shot["caption"]["is"] == kind
            assert not telling & {chip["is"] for chip in shot["chips"]}
            assert not telling & {node["is"] for node in shot["tree"]["nodes"].values()}
            assert "slot" not in shot["tree"]
    for *_, shot in steps(trace, "judge"):
        assert shot["step"]["next"] == "judge "


def test_all_p_fill_in_at_once_and_never_before_the_score(trace):
    for scene, made_of_it in shots(trace):
        for step, shot in zip(scene.steps, made_of_it, strict=True):
            name = "soft" if scene.greedy else "p"
            have = [name in node for node in shot["tree"]["nodes"].values()]
            assert all(have) if step.kind != "propose" else not any(have)


@pytest.mark.slow
def test_a_second_sibling_is_told_that_its_target_is_what_was_left():
    for name in ("siblings", "point-mass siblings"):
        told = [
            said(shot)
            for scene, step, shot in steps(made(RECIPES[name]), "judge")
            if scene.rejected_before(scene.round.judged[step.at])
        ]
        assert told
        assert all(text.startswith("After ") for text in told)
        assert all("what is left of p (p′)" in text for text in told)


def later_tries(trace):
    """(scene, judged, frame) of every second or later try at a place."""
    for scene, step, shot in steps(trace, "judge"):
        judged = scene.round.judged[step.at]
        if scene.rejected_before(judged) and not scene.greedy:
            yield scene, judged, shot


def test_on_a_second_try_bar_table_and_tree_show_what_was_left_and_say_so(trace):
    seen = 0
    for scene, judged, shot in later_tries(trace):
        panel, node = shot["panel"], shot["tree"]["nodes"][str(judged.node)]
        assert panel["laws"]["p"] == "left of p"
        head = {"t": "left\nof p", "of": "p", "left": "yes", "term": "p"}
        assert panel["table"]["heads"][0] == head
        assert node["left"] == panel["p"] == round(judged.inputs["p"], 6)
        assert node["p"] == round(scene.round.scored.p[judged.node - 1], 6)
        assert ("left_q" in node) == ("q" in panel["laws"]["left"]) == scene.replaced
        if scene.replaced:
            assert node["left_q"] == panel["q"] == round(judged.inputs["q"], 6)
            assert panel["laws"]["q"] == "left of q"
            assert panel["table"]["heads"][1]["left"] == "yes"
        seen += 1
    made_up = trace.header.target.family == "made-up"
    assert bool(seen) == (len(scenes(trace)[1].children[0]) > 1) or not made_up


def test_a_first_try_has_nothing_that_was_left(trace):
    for scene, step, shot in steps(trace, "judge"):
        judged = scene.round.judged[step.at]
        if not scene.rejected_before(judged):
            assert shot["panel"]["laws"]["left"] == []
            assert not {"left", "left_q"} & shot["tree"]["nodes"][str(judged.node)].keys()


def test_the_tree_shows_what_was_left_from_the_verdict_on_and_not_before(trace):
    for scene in scenes(trace):
        for step, shot in zip(scene.steps, frames(scene), strict=True):
            fallen = {j.node for j in verdicts_at(scene, step) if scene.rejected_before(j)}
            have = {int(n) for n, node in shot["tree"]["nodes"].items() if "left" in node}
            assert have == (set() if scene.greedy else fallen)


def test_q_of_siblings_sums_to_at_most_one_and_is_the_law_they_were_drawn_from(trace):
    compared = 0
    for scene in scenes(trace):
        for siblings in scene.children:
            drawn = [scene.q[node] for node in siblings if node in scene.q]
            assert sum(drawn) <= 1 + 1e-9 or not scene.replaced
        for judged in scene.round.judged:
            if judged.rows.q is None or scene.rejected_before(judged):
                continue
            law = dict(zip(judged.rows.tokens, judged.rows.q, strict=True))
            for node in scene.children[scene.guesses[judged.node - 1].parent]:
                if scene.guesses[node - 1].token in law:
                    given = law[scene.guesses[node - 1].token]
                    assert scene.q[node] == pytest.approx(given, rel=1e-4, abs=1e-9)
                    compared += 1
    assert compared or not Scene.of(trace, 1).q


def test_tree_and_list_show_one_q_for_a_guess(trace):
    for _, _, shot in steps(trace, "score"):
        tree = [node.get("q") for node in shot["tree"]["nodes"].values()]
        rows = [row.get("q") for row in shot["panel"]["rows"]] if tree else []
        assert rows == tree[: len(rows)]


def test_guesses_that_look_alike_at_one_place_say_what_they_follow(trace):
    for scene, _, shot in steps(trace, "score"):
        rows = shot["panel"]["rows"] if scene.guesses else []
        paths = [path_to(scene, node) for node in range(1, len(scene.guesses) + 1)]
        ways = {tuple(scene.guesses[node - 1].token for node in path) for path in paths}
        alike = Counter((len(way), way[-1]) for way in ways)  # independent siblings can be the same
        for node, row in enumerate(rows, 1):
            guess = scene.guesses[node - 1]
            assert ("after" in row) == (alike[row["at"], guess.token] > 1)
            if "after" in row:
                before = scene.guesses[guess.parent - 1].token
                assert flat(row["after"]).endswith(flat(scene.word(before)))
        named = [(row["at"], flat(row["w"]), flat(row.get("after", []))) for row in rows]
        assert len(set(named)) == len(ways) or len(rows) < len(scene.guesses)


@pytest.mark.parametrize("name", ["point mass", "13-eagle2", "21-ngram-dialogue"])
def test_a_point_mass_has_no_q_anywhere_and_its_coin_shows_p(name):
    trace = run(name)
    for scene, step, shot in steps(trace, "judge"):
        later = scene.rejected_before(scene.round.judged[step.at])
        first = "by chance, so there is no q to divide by: keep with chance p, "
        again = "was not drawn by chance either: keep with chance p′, "
        assert (again if later else first) in said(shot)
        assert "q" not in numbers(shot)
        panel = shot["panel"]
        assert "q" not in panel
        assert "q" not in panel["text"]
        assert panel["laws"]["none"] == "none: not drawn by chance"
        assert not any(head.get("of") == "q" for head in panel["table"]["heads"])
        assert all(row["t"][1] == row["t"][2] == "" for row in panel["table"]["rows"])
        assert panel["coin"]["threshold"] == pytest.approx(
            scene.round.judged[step.at].inputs["p"], abs=1e-6
        )


def test_temperature_0_has_no_coin_and_keeps_the_softmax_as_an_outline():
    trace = made(RECIPES["temperature 0"])
    for *_, shot in steps(trace, "judge"):
        assert "temperature 0" in said(shot)
        assert not numbers(shot)
        assert "coin" not in shot["panel"]
        assert sum(row["soft"] for row in shot["panel"]["table"]["rows"]) == pytest.approx(
            1, abs=1e-4
        )
    for *_, shot in steps(trace, "draw"):
        assert "draw" not in shot["panel"]


def test_a_round_without_guesses_says_so():
    trace = made(RECIPES["nothing drafted"])
    texts = [said(shot) for *_, shot in steps(trace, "propose")]
    assert texts
    assert all("no guess" in text for text in texts)
    assert all(shot["caption"]["is"] == "plain" for *_, shot in steps(trace, "draw"))


def propose(trace, **changes):
    """The sentences of the first round's guesses, where its Proposed event is changed."""
    scene = Scene.of(trace, 1)
    scene.round.proposed = replace(scene.round.proposed, **changes)
    return [
        said(shot)
        for step, shot in zip(scene.steps, frames(scene), strict=True)
        if step.kind == "propose"
    ]


def test_every_guess_was_kept_is_said_of_a_whole_try_alone(trace):
    """Else it is every guess on the branch: siblings may have fallen, others were never tried."""
    for scene, _, shot in steps(trace, "draw"):
        if scene.round.drew.kind == "bonus":
            kept = len(accepted_path(scene.round))
            assert ("on this branch" in said(shot)) == (kept < len(scene.guesses))
            assert str(kept) in said(shot) or kept == 1


def test_what_is_left_of_p_is_without_every_sibling_that_fell(trace):
    """Recomputed from p itself, as the target's pass gave it: 1 minus what the fallen held."""
    for scene, _, shot in steps(trace, "draw"):
        last = scene.round.judged[-1] if scene.round.judged else None
        if scene.greedy or scene.round.drew.kind != "recovered" or last.rows.q is not None:
            continue
        fell = [*scene.rejected_before(last), last]
        held = {scene.guesses[j.node - 1].token: scene.round.scored.p[j.node - 1] for j in fell}
        shown = numbers(shot)["residual"]
        decimals = len(shown.partition(".")[2]) if "." in shown else 2
        told = parse_number(shown.removeprefix("about "))
        assert told == pytest.approx(1 - sum(held.values()), abs=0.6 * 10**-decimals)
        words = [flat(p["w"]) for p in shot["caption"]["parts"] if isinstance(p, dict) and "w" in p]
        assert words[:-1] == [flat(scene.word(token)) for token in held]


def test_after_two_fallen_siblings_the_shares_multiply_to_what_is_left():
    trace = Trace.read(SHIPPED["13-eagle2"])
    sentence = next(said(shot) for _, shot in drawn_in(trace, 5))
    assert "drawn from p without ␣water and ␣boat (0.59 × 0.94 = 0.55 in all)." in sentence


def drawn_in(trace, number):
    """(scene, frame) of the draw in a round."""
    scene = Scene.of(trace, number)
    for step, shot in zip(scene.steps, frames(scene), strict=True):
        if step.kind == "draw":
            yield scene, shot


@pytest.mark.parametrize(
    ("shape", "end"),
    [
        ((1,), "for the guess. Now it is judged."),
        (
            (1, 1, 1),
            "all 3 guesses at once. Now they are judged in turn, up to the first that falls.",
        ),
        ((3,), "all 3 guesses at once. Now they are tried in turn, until one is kept."),
        ((2, 2), "are tried until one is kept, and then those that follow it."),
    ],
)
def test_scoring_promises_no_verdict_that_may_never_fall(shape, end):
    scene = Scene.of(made(Recipe(shape=shape, odd=False)), 2)
    shot = next(
        s for step, s in zip(scene.steps, frames(scene), strict=True) if step.kind == "score"
    )
    assert said(shot).endswith(end)


def test_with_one_token_left_nobody_says_that_the_text_was_searched():
    """The drafter was asked for no guess at all, whatever stands in its pool or the text."""
    trace = made(RECIPES["nothing drafted"])
    scene = Scene.of(trace, len(trace.rounds) - 1)
    assert scene.room == 1
    scene.round.proposed = replace(scene.round.proposed, remark=MATCH)
    assert said(frames(scene)[0]).startswith("One token is left to write")


MATCH = {"form": "match", "min": 1, "max": 3}


def test_a_guess_from_the_text_says_where_it_stood_and_no_match_says_so():
    fixed = made(RECIPES["point mass"])
    guesses = Scene.of(fixed, 1).guesses
    copied = [replace(guess, evidence={"from": at}) for at, guess in enumerate(guesses)]
    first, second, *_ = propose(fixed, remark=MATCH | {"start": 4, "length": 2}, guesses=copied)
    assert first.startswith("The last 2 tokens stand earlier in the text too; there followed ")
    assert second.startswith("Next there stood ")
    (none,) = propose(made(RECIPES["nothing drafted"]), remark=MATCH)
    assert none.startswith("No earlier place in the text ends as it does now")


def test_a_top_token_says_that_its_own_chance_decides_nothing():
    fixed = made(RECIPES["point mass"])
    assert all("no verdict will use" in text for text in propose(fixed, remark=None))


@pytest.mark.slow
def test_a_text_that_ends_with_a_kept_guess_promises_no_token():
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


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b" cat", "␣cat"),
        (b"    if", "␣␣␣␣if"),
        (b"\n\n", "↵↵"),
        ("🦊".encode(), "🦊"),
        ("🦊".encode()[:2], "<0xF0><0x9F>"),
        (b"a\xffb", "a<0xFF>b"),
        ("\u202e".encode(), "<U+202E>"),
        ("\u200d".encode(), "<U+200D>"),
        (b"\x00", "<U+0000>"),
        (b"<b>&amp;`${x}{{y}}", "<b>&amp;`${x}{{y}}"),
        (b"", ""),
    ],
)
def test_a_token_is_shown_as_it_is(data, shown):
    assert flat(word(data)) == shown


def test_a_token_that_looks_like_a_byte_is_not_one():
    assert word(b"<0xE2>") == ["<0xE2>"]
    assert word(b"\xe2") == [{"c": "0xE2"}]
    assert all(isinstance(piece, str | dict) for token in ODD for piece in word(token))


def test_the_screen_takes_its_words_from_the_glossary(trace):
    for _, shot in at_cursors(trace):
        states = {node["is"] for node in shot["tree"]["nodes"].values()}
        states |= {chip["is"] for chip in shot["chips"]}
        assert states <= GLOSSARY.keys()


@pytest.mark.slow
def test_the_rows_concerned_subtract_as_shown_and_share_the_sentence_s_residual():
    compared = 0
    for recipe in (Recipe(rounds=30, seed=s) for s in range(4)):
        for _, _, shot in steps(made(recipe), "draw"):
            if shot["caption"]["is"] != "recovered":
                continue
            view = shot["panel"]["table"]
            assert numbers(shot)["residual"] == view["total"]["left"]
            if view["digits"] == 4:
                continue  # the most that the columns have room for
            for row in view["rows"]:
                p, q, apart, above, scaled = (parse_number(text.lstrip("+")) for text in row["t"])
                if "is" in row:
                    assert p - q == pytest.approx(apart, abs=1e-9)
                    left = parse_number(view["total"]["left"])
                    assert round(above / left, view["digits"]) == pytest.approx(scaled)
                    compared += 1
    assert compared > 10


def test_guesses_come_on_screen_depth_by_depth(trace):
    for scene, step, shot in steps(trace, "propose"):
        depths = {node["depth"] for node in shot["tree"]["nodes"].values()}
        assert depths == set(range(1, step.at + 1))
        listed = {row["at"] for row in shot["panel"]["rows"]} if step.at else depths
        cut = "of" in shot["panel"]  # the newest are listed where reasons stand under the list
        assert listed <= depths if cut else listed == depths
        assert step.at in listed or not step.at
        assert len(shot["tree"]["nodes"]) == sum(0 < d <= step.at for d in scene.depths)


def test_temperature_0_shows_no_p_before_a_verdict_since_p_is_the_verdict():
    for scene, step, shot in steps(run("temperature 0"), "score"):
        assert step.kind == "score"
        for node, view in shot["tree"]["nodes"].items():
            assert "p" not in view
            assert "top" not in view
            assert view["soft"] == round(scene.round.scored.soft[int(node) - 1], 6)
        assert all("p" not in row for row in shot["panel"]["rows"])
