"""Step with rules that judge from the leaf to the root: sentences, states and questions."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile

import pytest
import tiny
from fakes import Branching
from forging import traced
from test_leaf_first_runs import CHAIN, TREE
from test_leaf_first_runs import WARM as LONGER

from specviz.engine.decode import run
from specviz.frames import Scene, frames, questions
from specviz.frames.leaf_first import (
    acceptance_bounds,
    compare_with_root_first,
    next_judged,
    required_verdicts,
)
from specviz.frames.numbers import parse_number
from specviz.frames.scene import flat
from specviz.frames.tree import added_tokens
from specviz.frames.whatif import U_TO_ACCEPT, U_TO_REJECT
from specviz.settings.chance import JUDGE, u_key
from specviz.settings.settings import Sampling
from specviz.shipped import FOLDER
from specviz.trace.file import Trace
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import speculative_threshold
from specviz.verification import Drawn

pytestmark = pytest.mark.slow

WARM = replace(LONGER, max_new_tokens=16)
SHAPES = {
    "chain": ("block", Drawn.SAMPLED, CHAIN),
    "sampled tree": ("traversal", Drawn.SAMPLED, TREE),
    "tree without replacement": ("traversal", Drawn.WITHOUT_REPLACEMENT, TREE),
    "fixed tree": ("traversal", Drawn.POINT_MASS, TREE),
}


@pytest.fixture(scope="module")
def runs(tiny_target):
    """Return by name sampled runs, runs at temperature 0, and the shipped one."""
    found = {"shipped": Trace.read(FOLDER / "11b-block.jsonl")}
    for name, (rule, drawn, shape) in SHAPES.items():
        drafter, settings = Branching(drawn, shape), replace(WARM, rule=rule)
        found[name] = traced(tiny_target, drafter, settings)
        if name != "fixed tree":
            cold = replace(settings, sampling=Sampling(0.0))
            found[f"cold {name}"] = traced(tiny_target, drafter, cold)
    return found


EVERY = ["shipped", *SHAPES, "cold chain", "cold sampled tree", "cold tree without replacement"]
OF_CHANCE = ["shipped", *SHAPES]


@pytest.fixture(scope="module")
def shown(runs):
    """Return every (scene, step, frame) of the verdicts and draws of each run."""
    found = {}
    for name, trace in runs.items():
        scenes = [Scene.of(trace, index) for index in range(len(trace.rounds))]
        found[name] = [
            (scene, step, shot)
            for scene in scenes
            for step, shot in zip(scene.steps, frames(scene), strict=True)
        ]
    return found


def steps(shots, kind="judge"):
    """Return those of a kind."""
    return [(scene, step, shot) for scene, step, shot in shots if step.kind == kind]


def sentence_text(shot):
    parts = shot["caption"]["parts"]
    return "".join(
        p if isinstance(p, str) else p.get("n") or p.get("t") or flat(p["w"]) for p in parts
    )


def product(text):
    """Evaluate a sentence's calculation: factors, and at most one divisor, which may be a sum."""
    top, _, under = text.partition(" ÷ ")
    found = 1.0
    for factor in top.split(" × "):
        found *= parse_number(factor.strip())
    return found / sum(map(parse_number, under.strip("()").split(" + "))) if under else found


@pytest.mark.parametrize("name", OF_CHANCE)
def test_displayed_numbers_of_a_verdict_are_those_of_the_trace(shown, name):
    """The factors in the sentence multiply to the threshold, and the bar covers as much of q."""
    seen = 0
    for scene, step, shot in steps(shown[name]):
        judged, text, panel = scene.round.judged[step.at], sentence_text(shot), shot["panel"]
        for whole, chance in re.findall(
            r"ccept with probability (\d.*?) = ([\d.]+)\. The coin", text
        ):
            digits = len(chance.partition(".")[2])
            assert round(min(1.0, product(whole)), digits) == pytest.approx(parse_number(chance))
            assert parse_number(chance) == pytest.approx(judged.threshold, abs=0.6 * 10**-digits)
            seen += 1
        told, coin = panel["text"], {"u": judged.u, "threshold": judged.threshold}
        assert (parse_number(told["u"]) < parse_number(told["threshold"])) == judged.accepted
        assert panel["coin"] == {key: round(value, 6) for key, value in coin.items()}
        assert shot["caption"]["label"] == ("Accepted" if judged.accepted else "Rejected")
        whole = panel.get("q", 1.0)
        assert panel["labels"].get("residual_bars", False) == ("left" in judged.inputs)
        if whole > 1e-3:
            covered = min(panel["p"], whole) / whole
            assert covered == pytest.approx(judged.threshold, abs=2e-6 / whole)
    assert seen > 1


@pytest.mark.parametrize("name", EVERY)
def test_accepted_guess_marks_all_its_ancestors_accepted(shown, name):
    for scene, step, shot in steps(shown[name]):
        judged = scene.round.judged[step.at]
        states = {int(node): view["is"] for node, view in shot["tree"]["nodes"].items()}
        kept = accepted_path(scene.round) if judged.accepted else []
        assert [n for n, state in sorted(states.items()) if state == "accepted"] == sorted(kept)
        fell = [j.node for j in scene.round.judged[: step.at + 1] if not j.accepted]
        assert {n for n, state in states.items() if state == "rejected"} == set(fell)
        rest = "unreached" if judged.accepted else "waiting"
        assert {s for n, s in states.items() if n not in (*kept, *fell)} <= {rest}
        over = judged.accepted or step.at == len(scene.round.judged) - 1
        assert ("slot" in shot["tree"]) == over
    for scene, _, shot in steps(shown[name], "commit"):
        kept = accepted_path(scene.round)
        assert [chip["is"] for chip in shot["chips"]].count("accepted") == len(kept)
        labels = [frame["step"]["id"] for frame in frames(scene)]
        for token in added_tokens(scene)[: len(kept)]:
            assert labels[token.step] == f"judge-{kept[-1]}"


def test_caption_names_the_guess_rejected_if_judged_one_by_one(shown):
    """It is the first accepted guess whose u is not below p / q."""
    found = 0
    for scene, step, shot in steps(shown["shipped"]):
        judged = scene.round.judged[step.at]
        falls = [
            flat(scene.word(guess.token))
            for node in (accepted_path(scene.round) if judged.accepted else [])
            if (guess := scene.guesses[node - 1]).u
            >= speculative_threshold({"p": scene.round.scored.p[node - 1], "q": guess.q})
        ]
        assert ("If the guesses were judged from the first" in sentence_text(shot)) == bool(falls)
        assert not falls or f"to the last, {falls[0]} would be rejected: " in sentence_text(shot)
        found += bool(falls)
    assert found >= 2, "this run was recorded to show such a guess"
    assert not any(
        compare_with_root_first(s, s.round.judged[-1]) for s, *_ in steps(shown["cold chain"])
    )


@pytest.mark.parametrize("name", EVERY)
def test_residual_in_the_table_is_the_one_the_last_token_is_sampled_from(shown, name):
    for scene, _, shot in steps(shown[name], "draw"):
        if scene.round.drew.kind != "recovered":
            continue
        rows = scene.last_rejected.rows
        assert scene.guesses[scene.last_rejected.node - 1].parent == scene.round.drew.parent
        view = shot["panel"]["table"]
        left = parse_number(view["total"]["left"])
        assert left == pytest.approx(rows.residual, abs=10 ** -view["digits"])
        drawn = next(row for row in view["rows"] if row.get("is") == "drawn")
        at = scene.round.drew.tokens.index(scene.round.drew.token)
        assert drawn["m"][3] == pytest.approx(scene.round.drew.p[at], abs=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_prediction_questions_do_not_reveal_their_answer(runs, name):
    asked = 0
    for index in range(len(runs[name].rounds)):
        scene = Scene.of(runs[name], index)
        told = frames(scene)
        for at, question in questions(scene, told).items():
            event = scene.round.judged[scene.steps[at].at]
            judged = [
                replace(j, u=0.0 if j.u else 0.999) if j is event else j for j in scene.round.judged
            ]
            elsewhere = replace(scene, round=replace(scene.round, judged=judged))
            assert questions(elsewhere, told)[at] == question
            panel = question["panel"]
            assert panel["asked"] is True
            assert not {"coin", "because", "whatif"} & panel.keys()
            assert set(panel.get("text", {})) <= {"p", "q"}
            assert question["tree"]["nodes"][str(event.node)]["is"] == "waiting"
            parts = question["caption"]["parts"]
            # Neither the probability of acceptance (in the colour of both models) nor the coin.
            colours = {p["as"] for p in parts if isinstance(p, dict) and "n" in p}
            assert colours <= {"p", "q", "residual"}
            assert not re.search("÷|with probability|always|never", sentence_text(question))
            assert "?" in sentence_text(question)
            asked += 1
    assert asked > 5


# Forced coins


def played(target, name, number, coins):
    """Return the same run with these coins, up to the end of a round."""
    rule, drawn, shape = SHAPES[name]
    settings = replace(WARM, rule=rule, coins=coins)
    header, *events = takewhile(
        lambda event: getattr(event, "round", 0) <= number,
        run(target, Branching(drawn, shape), tiny.PROMPT, settings, baseline=False),
    )
    return Scene.of(Trace(header, events), number).round


@pytest.mark.parametrize("name", ["chain", "sampled tree", "tree without replacement"])
def test_run_with_a_moved_coin_has_the_predicted_outcome(tiny_target, shown, name):
    turned = 0
    for scene, step, shot in steps(shown[name]):
        judged = scene.round.judged[step.at]
        if not 0.02 < judged.threshold < 1 or turned > 5:
            continue
        kept = not judged.accepted
        u = judged.threshold / 2 if kept else (1 + judged.threshold) / 2
        coins = {shot["panel"]["whatif"]["coin"]: u}
        after = played(tiny_target, name, scene.round.number, coins)
        place = [j.node for j in after.judged].index(judged.node)
        told = shot["panel"]["whatif"]["kept" if kept else "rejected"]
        text = "".join(part for part in told if isinstance(part, str))
        turned += 1
        if place + 1 < len(after.judged):
            then = after.judged[place + 1].node
            assert not kept
            assert then == next_judged(scene, judged.node)
            assert {"w": scene.word(scene.guesses[then - 1].token)} in told
        elif after.drew is not None:
            assert ("the residual" in text) == (after.drew.kind == "recovered")
    assert turned > 3


@pytest.mark.parametrize("name", ["chain", "tree without replacement"])
def test_coins_set_along_the_path_of_a_guess_put_it_into_the_text(tiny_target, runs, name):
    came = 0
    for index in range(1, 6):
        scene = Scene.of(runs[name], index)
        bounds = acceptance_bounds(scene)
        for node, way in required_verdicts(scene).items():
            coins = {
                u_key(scene.round.number, JUDGE, n): U_TO_ACCEPT if k else U_TO_REJECT
                for n, k in way
            }
            other = played(tiny_target, name, scene.round.number, coins)
            inside = int(node) in accepted_path(other)
            least, most = bounds.get(int(node), (0.0, 1.0))
            if not inside:  # a coin cannot accept at probability 0, nor reject at probability 1
                chance = {j.node: j.threshold for j in other.judged}
                laid = [chance[n] for n, kept in way if not kept and n in chance]
                assert chance.get(int(node)) == 0.0 or max(laid) > U_TO_REJECT
                assert least == 0.0 or int(node) not in chance
            assert not (inside and accepted_path(other)[-1] == int(node) and most == 0.0)
            came += inside
    assert came > 1


@pytest.mark.parametrize("name", OF_CHANCE)
def test_bounds_from_scores_contain_the_threshold_of_the_verdict(runs, name):
    told = 0
    for index, played in enumerate(runs[name].rounds):
        bounds = acceptance_bounds(Scene.of(runs[name], index))
        for judged in played.judged:
            least, most = bounds.get(judged.node, (0.0, 1.0))
            assert least - 1e-9 <= judged.threshold <= most + 1e-9
            told += least == most
    assert told > 3
