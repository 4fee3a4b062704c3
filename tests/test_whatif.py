"""What if: the sentence that a moved coin leads to is what a run with that coin then does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
from fakes import Branching
from made import Recipe, made

from specviz.engine.decode import run
from specviz.frames import Scene
from specviz.frames.caption import caption
from specviz.frames.whatif import FALLEN, KEPT, outcomes, ways
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.verification import Drawn

WARM = Settings(Sampling(0.9), max_new_tokens=20, gamma=4)
DRAFTERS = {
    "chain": tiny.draft,
    "tree": lambda: Branching(Drawn.WITHOUT_REPLACEMENT),
    "point-mass tree": lambda: Branching(Drawn.POINT_MASS),
}


def traced(target, drafter, settings):
    header, *events = run(target, drafter, tiny.PROMPT, settings, baseline=False)
    return Trace(header, events)


def events_before(trace, number):
    """What a run did before a round, but for the time it took."""
    return [
        [played.committed.tokens, [judged.u for judged in played.judged]]
        for played in trace.rounds
        if played.number < number
    ]


def next_thing(scene, judged):
    """The token on trial after a verdict, "bonus" or "recovered"."""
    place = scene.round.judged.index(judged) + 1
    if place < len(scene.round.judged):
        return scene.word(scene.guesses[scene.round.judged[place].node - 1].token)
    return scene.round.drew.kind if scene.round.drew else "end"


def foretold(parts):
    """The same, as the sentence has it."""
    words = [part["w"] for part in parts if isinstance(part, dict)]
    text = "".join(part for part in parts if isinstance(part, str))
    if words:
        return words[0]
    return "bonus" if "bonus" in text else "end" if "end with it" in text else "recovered"


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_moved_coin_does_what_the_page_says(tiny_target, drafter, seed):
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
            other = traced(tiny_target, DRAFTERS[drafter](), replace(settings, coins=coins))
            check(other)
            assert events_before(other, played.number) == events_before(first, played.number)
            after = Scene.of(other, index)
            same = next(j for j in after.round.judged if j.node == judged.node)
            assert same.accepted is kept
            assert next_thing(after, same) == foretold(told["kept" if kept else "rejected"])
            turned += 1
    assert turned >= 3, "hardly anything was tried"


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_coins_laid_along_a_way_bring_its_guess_into_the_text(tiny_target, drafter):
    first = traced(tiny_target, DRAFTERS[drafter](), WARM)
    reached = 0
    for index, played in enumerate(first.rounds[:4]):
        scene = Scene.of(first, index)
        for node, way in ways(scene).items():
            coins = {f"{played.number} judge {n}": KEPT if kept else FALLEN for n, kept in way}
            other = traced(tiny_target, DRAFTERS[drafter](), replace(WARM, coins=coins))
            verdicts = {j.node: j for j in other.rounds[index].judged}
            stuck = [n for n, kept in way if n not in verdicts or verdicts[n].accepted != kept]
            for n in stuck[:1]:  # a coin cannot keep what has no chance, nor fell what must be kept
                assert verdicts[n].threshold in (0.0, 1.0)
            if not stuck:
                reached += 1
                assert verdicts[int(node)].accepted
    assert reached >= 3


def test_a_way_lists_the_path_and_the_siblings_tried_before_it():
    scene = Scene.of(made(Recipe(shape=(3, 2))), 1)
    assert [guess.parent for guess in scene.guesses] == [0, 0, 0, 1, 1]
    assert ways(scene)["3"] == [[1, 0], [2, 0], [3, 1]]
    assert ways(scene)["5"] == [[1, 1], [4, 0], [5, 1]]


def test_a_coin_laid_by_hand_is_said_to_be_laid():
    trace = made(Recipe(seed=3))
    index, judged = next((i, r.judged[0]) for i, r in enumerate(trace.rounds) if r.judged)
    settings = trace.header.settings | {"coins": {f"{judged.round} judge {judged.node}": judged.u}}
    laid = Trace(replace(trace.header, settings=settings), trace.events)
    sentences = []
    for each in (trace, laid):
        scene = Scene.of(each, index)
        step = next(step for step in scene.steps if step.kind == "judge")
        sentences.append(str(caption(scene, step)))
    assert "The coin at " in sentences[0]
    assert "The coin laid at " in sentences[1]
