"""Predict first: a question shows its guess and does not reveal the verdict."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from made import Recipe, made

from specviz.frames import Scene, frames, questions
from specviz.frames.numbers import parse_number
from specviz.frames.scene import flat
from specviz.trace.events import Round
from specviz.ui.step.lines import lines

pytestmark = pytest.mark.slow

RECIPES = {
    "chain": Recipe(rounds=6),
    "siblings": Recipe(shape=(3, 2, 2, 1), rounds=6),
    "long chain": Recipe(shape=(1,) * 12, rounds=8),
    "point mass": Recipe(shape=(3, 2), point_mass=True, rounds=6),
    "temperature 0": Recipe(greedy=True, rounds=12),
}


@pytest.fixture(scope="module", params=RECIPES)
def trace(request):
    return made(RECIPES[request.param])


@pytest.fixture(scope="module")
def asked(trace):
    """Return every (scene, verdict, question)."""
    scenes = [Scene.of(trace, index) for index in range(len(trace.rounds))]
    return [
        (scene, scene.round.judged[scene.steps[at].at], question)
        for scene in scenes
        for at, question in questions(scene, frames(scene)).items()
    ]


def said(question):
    parts = question["caption"]["parts"]
    return "".join(p if isinstance(p, str) else p.get("n") or flat(p["w"]) for p in parts)


def test_question_shows_the_guess_to_be_predicted_with_its_p_and_q(trace, asked):
    assert len(asked) == sum(len(played.judged) for played in trace.rounds) > 5
    for scene, judged, question in asked:
        word = scene.word(scene.guesses[judged.node - 1].token)
        assert {"w": word} in question["caption"]["parts"][:2]
        assert question["tree"]["here"] == judged.node
        assert question["tree"]["nodes"][str(judged.node)]["is"] == "waiting"
        panel = question["panel"]
        assert (panel["w"], panel["at"]) == (word, scene.depths[judged.node])
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


def with_coin(scene, judged, u):
    """Return the round up to a verdict, with another u."""
    known = scene.round.judged[: scene.round.judged.index(judged)]
    cut = Round(scene.round.number, scene.round.proposed, scene.round.scored)
    cut.judged = [*known, replace(judged, u=u)]
    return replace(scene, round=cut)


def test_question_contains_no_verdict_and_does_not_depend_on_u(asked):
    tried = 0
    for scene, judged, question in asked:
        panel = question["panel"]
        assert not {"coin", "accepted", "whatif", "draw"} & panel.keys()
        assert not {"u", "threshold"} & panel.get("text", {}).keys()
        assert not panel.get("table", {}).get("full")
        caption = json.dumps(question["caption"]).lower().replace("be accepted?", "")
        assert not [word for word in ("accepted", "coin") if word in caption]
        if not 0 < judged.threshold < 1 and not scene.greedy:
            continue
        near = [judged.threshold * (1 - 1e-7), judged.threshold * (1 + 1e-7)]
        for u in [0.0, 0.999, *near]:
            other = with_coin(scene, judged, min(u, 0.9999))
            assert questions(other, frames(other))[len(other.steps) - 1] == question
        tried += 1
    assert tried > 5


def test_lines_have_each_question(trace, asked):
    text = "".join(lines([trace.header, *trace.events], "recorded"))
    told = [json.loads(line) for line in text.split("\n") if line]
    rounds = [line for line in told if line["kind"] == "round"]
    sent = [frame for line in rounds for frame in line["asks"].values()]
    for frame, (_, _, question) in zip(sent, asked, strict=True):
        assert frame["panel"] == json.loads(json.dumps(question["panel"]))
        assert frame["caption"] == question["caption"]
        tree = frame["tree"]
        assert str(tree["here"]) in tree["layout"]["places"], "the word in question is shown"
