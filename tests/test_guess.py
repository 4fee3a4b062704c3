"""Predict first: a question shows its guess and does not reveal the verdict."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from made import Recipe, made

from specviz.frames import Scene, apply_patch, frames, questions
from specviz.frames.numbers import parse_number
from specviz.frames.scene import flat
from specviz.trace.events import Judged, Round
from specviz.ui.step.lines import lines

pytestmark = pytest.mark.slow

RECIPES = {
    "chain": Recipe(rounds=10),
    "siblings": Recipe(shape=(3, 2, 2, 1), rounds=12),
    "long chain": Recipe(shape=(1,) * 12, rounds=8),
    "point mass": Recipe(shape=(3, 2), point_mass=True, rounds=12),
    "temperature 0": Recipe(greedy=True, rounds=12),
}


@pytest.fixture(scope="module", params=RECIPES)
def trace(request):
    return made(RECIPES[request.param])


def asked(trace):
    """Yield every (scene, verdict, question)."""
    for index in range(len(trace.rounds)):
        scene = Scene.of(trace, index)
        found = questions(scene, frames(scene))
        for at, question in found.items():
            yield scene, scene.round.judged[scene.steps[at].at], question


def said(question):
    parts = question["caption"]["parts"]
    return "".join(p if isinstance(p, str) else p.get("n") or flat(p["w"]) for p in parts)


def test_every_verdict_has_a_prediction_question(trace):
    judged = sum(len(played.judged) for played in trace.rounds)
    assert len(list(asked(trace))) == judged > 5


def test_caption_tree_and_panel_show_the_guess_to_be_predicted(trace):
    for scene, judged, question in asked(trace):
        word = scene.word(scene.guesses[judged.node - 1].token)
        assert {"w": word} in question["caption"]["parts"][:2]
        assert question["tree"]["here"] == judged.node
        assert question["tree"]["nodes"][str(judged.node)]["is"] == "waiting"
        assert question["panel"]["w"] == word
        assert question["panel"]["at"] == scene.depths[judged.node]


def test_prediction_question_shows_the_p_and_q_of_the_verdict(trace):
    for scene, judged, question in asked(trace):
        panel = question["panel"]
        if scene.greedy:
            assert not {"p", "q", "table"} & panel.keys()
            continue
        assert panel["p"] == pytest.approx(judged.inputs["p"], abs=1e-6)
        assert ("p′" in said(question)) == bool(scene.rejected_before(judged))
        assert panel["text"]["p"] in said(question)
        if "q" in panel:
            assert panel["text"]["q"] in said(question)
            p, q = parse_number(panel["text"]["p"]), parse_number(panel["text"]["q"])
            assert f"{min(1, p / q):.2f}" == f"{judged.threshold:.2f}"


def with_coin(scene: Scene, judged: Judged, u: float) -> Scene:
    """Return the round up to a verdict, with another u."""
    known = scene.round.judged[: scene.round.judged.index(judged)]
    cut = Round(scene.round.number, scene.round.proposed, scene.round.scored)
    cut.judged = [*known, replace(judged, u=u)]
    return replace(scene, round=cut)


def test_prediction_question_does_not_depend_on_u(trace):
    tried = 0
    for scene, judged, question in asked(trace):
        if not 0 < judged.threshold < 1 and not scene.greedy:
            continue
        near = [judged.threshold * (1 - 1e-7), judged.threshold * (1 + 1e-7)]
        for u in [0.0, 0.999, *near]:
            other = with_coin(scene, judged, min(u, 0.9999))
            assert questions(other, frames(other))[len(other.steps) - 1] == question
        tried += 1
    assert tried > 5


def test_prediction_question_contains_no_coin_threshold_or_verdict(trace):
    for _, _, question in asked(trace):
        panel = question["panel"]
        assert not {"coin", "accepted", "whatif", "draw"} & panel.keys()
        assert not {"u", "threshold"} & panel.get("text", {}).keys()
        assert not panel.get("table", {}).get("full")
        caption = json.dumps(question["caption"]).lower().replace("be accepted?", "")
        assert not [word for word in ("accepted", "coin") if word in caption]


def test_page_restores_each_prediction_question_from_its_patch(trace):
    told = [
        json.loads(line)
        for line in "".join(lines([trace.header, *trace.events], "recorded")).split("\n")
        if line
    ]
    number = 0
    for index, line in enumerate(line for line in told if line["kind"] == "round"):
        scene = Scene.of(trace, index)
        found = questions(scene, frames(scene))
        assert set(line["asks"]) == {str(at) for at in found}
        for at, question in found.items():
            patch = line["then"][at - 2] if at > 1 else {}
            restored = apply_patch(apply_patch(line["first"], patch), line["asks"][str(at)])
            assert restored["panel"] == json.loads(json.dumps(question["panel"]))
            assert restored["caption"] == question["caption"]
            tree = restored["tree"]
            assert str(tree["here"]) in tree["layout"]["places"], "the word in question is shown"
            number += 1
    assert number > 5
