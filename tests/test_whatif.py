"""Forced random numbers: the prediction for a moved coin equals a run with that coin."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import forging
import pytest
import tiny
from fakes import Branching
from made import Recipe, made
from recorded_runs import RUNS, read

from specviz.frames import Scene
from specviz.frames.caption import caption
from specviz.frames.tree import tree, verdicts_at
from specviz.frames.whatif import (
    U_TO_ACCEPT,
    U_TO_REJECT,
    acceptance_bounds,
    is_certain,
    outcomes,
    required_verdicts,
)
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.verification import Drawn

WARM = Settings(Sampling(0.9), max_new_tokens=14, gamma=4)
DRAFTERS = {
    "chain": tiny.draft,
    "tree": lambda: Branching(Drawn.WITHOUT_REPLACEMENT),
    "point-mass tree": lambda: Branching(Drawn.POINT_MASS),
}


def traced(target, drafter, settings, until=100):
    """Return a run, or its rounds up to this index."""
    asked = count()
    return forging.traced(
        target, drafter, settings, stop=lambda: next(asked) >= until, baseline=False
    )


def events_before(trace, number):
    """Return the committed tokens and the u of every verdict before a round."""
    return [
        [played.committed.tokens, [judged.u for judged in played.judged]]
        for played in trace.rounds
        if played.number < number
    ]


def actual_next(scene, judged):
    """Return the next token to judge after a verdict, or "bonus" or "recovered"."""
    place = scene.round.judged.index(judged) + 1
    if place < len(scene.round.judged):
        return scene.word(scene.guesses[scene.round.judged[place].node - 1].token)
    return scene.round.drew.kind if scene.round.drew else "end"


def predicted_next(parts):
    """Return the same as predicted by the sentence."""
    words = [part["w"] for part in parts if isinstance(part, dict)]
    text = "".join(part for part in parts if isinstance(part, str))
    if words:
        return words[0]
    return "bonus" if "bonus" in text else "end" if "end with it" in text else "recovered"


@pytest.mark.slow
@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_run_with_a_moved_coin_has_the_predicted_outcome(tiny_target, drafter, seed):
    settings = replace(WARM, seed=seed)
    first = traced(tiny_target, DRAFTERS[drafter](), settings)
    turned = 0
    for index, played in enumerate(first.rounds):
        for judged in played.judged:
            scene = Scene.of(first, index)
            if not 0 < judged.threshold < 1:
                continue
            told = outcomes(scene, judged)
            kept = not judged.accepted
            coins = {told["coin"]: judged.threshold / 2 if kept else (1 + judged.threshold) / 2}
            laid = replace(settings, coins=coins)
            other = traced(tiny_target, DRAFTERS[drafter](), laid, index)
            check(other)
            assert events_before(other, played.number) == events_before(first, played.number)
            after = Scene.of(other, index)
            same = next(j for j in after.round.judged if j.node == judged.node)
            assert same.accepted is kept
            assert actual_next(after, same) == predicted_next(told["kept" if kept else "rejected"])
            turned += 1
    assert turned >= 3, "too few coins were tried"


def test_required_verdicts_are_those_of_the_path_and_of_earlier_siblings():
    scene = Scene.of(made(Recipe(shape=(3, 2))), 1)
    assert [guess.parent for guess in scene.guesses] == [0, 0, 0, 1, 1]
    assert required_verdicts(scene)["3"] == [(1, 0), (2, 0), (3, 1)]
    assert required_verdicts(scene)["5"] == [(1, 1), (4, 0), (5, 1)]


@pytest.mark.slow
def test_bounds_from_p_and_q_contain_the_threshold_of_the_verdict():
    for path in RUNS:
        trace = read(path)
        told = 0
        for index, played in enumerate(trace.rounds):
            bounds = acceptance_bounds(Scene.of(trace, index), [])  # before any verdict
            for judged in played.judged:
                least, most = bounds.get(str(judged.node), (0, 1))
                assert least - 1e-9 <= judged.threshold <= most + 1e-9, (path.name, judged)
                if least == 1 or most == 0:
                    assert is_certain(judged), (path.name, judged)
                told += least == most
        assert told or Scene.of(trace, 0).greedy, path.name


@pytest.mark.slow
@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in (2, 3))])
def test_verdicts_can_be_changed_by_a_coin_unless_they_are_certain(tiny_target, drafter, seed):
    settings = replace(WARM, seed=seed, max_new_tokens=12)
    first = traced(tiny_target, DRAFTERS[drafter](), settings)
    never = sure = 0
    for index, played in enumerate(first.rounds[:3]):
        scene = Scene.of(first, index)
        known = acceptance_bounds(scene, played.judged)
        for way in required_verdicts(scene).values():
            coins, promised = {}, True
            for n, kept in way:
                least, most = known.get(str(n), [0, 1])
                promised &= least > 0 if kept else most < 1
                fell = max(U_TO_REJECT, (1 + most) / 2) if most < 1 else U_TO_REJECT
                coins[f"{played.number} judge {n}"] = U_TO_ACCEPT if kept else fell
            laid = replace(settings, coins=coins)
            other = traced(tiny_target, DRAFTERS[drafter](), laid, index)
            verdicts = {j.node: j.accepted for j in other.rounds[index].judged}
            came = all(verdicts.get(n) == bool(kept) for n, kept in way)
            impossible = any(
                (known.get(str(n), [0, 1])[1] == 0) if kept else known.get(str(n), [0, 1])[0] == 1
                for n, kept in way
            )
            assert came or not promised, "certain acceptance must happen"
            assert not (came and impossible), "impossible acceptance must not happen"
            never, sure = never + impossible, sure + promised
    assert sure >= 3
    assert never or drafter != "tree"


def test_bounds_of_acceptance_are_known_from_the_score_step_on():
    recipe = Recipe(shape=(3, 2), rounds=6)
    trace = made(recipe)
    for index in range(1, len(trace.rounds)):
        scene = Scene.of(trace, index)
        for step in scene.steps:
            view = tree(scene, step)
            assert ("chances" in view) == (step.kind != "propose")
            for judged in verdicts_at(scene, step):
                assert view["chances"][str(judged.node)] == (judged.threshold,) * 2


def with_set_coin(trace, index, judged):
    coins = {f"{trace.rounds[index].number} judge {judged.node}": judged.u}
    settings = trace.header.settings | {"coins": coins}
    return Scene.of(Trace(replace(trace.header, settings=settings), trace.events), index)


def test_caption_says_that_a_coin_was_set_and_when_it_cannot_change_the_verdict():
    trace = made(Recipe(rounds=12))
    said = set()
    for index, played in enumerate(trace.rounds):
        for place, judged in enumerate(played.judged):
            plain, scene = Scene.of(trace, index), with_set_coin(trace, index, judged)
            step = [step for step in scene.steps if step.kind == "judge"][place]
            vain = "No coin could change this" in str(caption(scene, step))
            assert "The coin, set to " in str(caption(scene, step))
            assert "The coin, set to " not in str(caption(plain, step))
            assert vain == (judged.threshold in (0, 1))
            told = outcomes(scene, judged)
            assert ("stuck" in told) == vain
            if vain:
                assert told["stuck"][-1] == f" is accepted with probability {judged.threshold:.0f}."
            said.add(vain)
    assert said == {True, False}
