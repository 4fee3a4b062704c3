"""Sentences of the Simple mode: their percentages agree with each other and with the verdicts."""

import re

import pytest
from made import RUNS, made

from specviz.frames import Scene, frames
from specviz.frames.numbers import format_ratio
from specviz.frames.simple import percent
from specviz.ui.step import recorded

DIVISION = re.compile(r"keeps ([\d.]+)(?:\s÷\s| of every )([\d.]+)")
COIN = r"(the coin|Here it) says (yes|no)"


def flat_text(parts):
    return "".join(p if isinstance(p, str) else p.get("n") or p.get("t") or "‹›" for p in parts)


def shots(trace):
    for index in range(len(trace.rounds)):
        scene = Scene.of(trace, index)
        yield from zip(scene.steps, frames(scene), strict=True)


@pytest.mark.parametrize("name", RUNS)
def test_sentence_of_each_step_agrees_with_its_numbers_and_verdict(name):
    divided = 0
    for step, shot in shots(made(RUNS[name])):
        caption = shot["caption"]
        parts, shown = caption["simple"], flat_text(caption["simple"])
        assert shown.endswith("."), shown
        assert len(shown.split()) <= 50, shown
        if found := DIVISION.search(shown):
            divided += 1
            p, q = map(float, found.groups())
            if spare := re.search(r"discards the ([\d.]+) too many", shown):
                assert spare[1] == f"{q - p:.{len(spare[1].partition('.')[2])}f}", shown
            chance = next(
                part for part in parts if isinstance(part, dict) and part.get("as") == "both"
            )
            exact = chance["n"].removeprefix("almost ")
            digits = len(exact.removesuffix(" %").partition(".")[2])
            assert f"{100 * p / q:.{digits}f} %" == exact, shown
        if step.kind == "judge" and re.search(COIN, shown):
            assert ("says yes" in shown) == (caption["is"] == "accepted"), shown
        if step.kind == "draw" and caption["is"] == "bonus":
            states = {node["is"] for node in shot["tree"]["nodes"].values()}
            assert ("All guesses were" in shown) <= (states == {"accepted"}), shown
    assert divided or name in ("03-point-mass", "04-temperature-0")


def test_what_a_coin_decides_is_never_said_to_be_certain():
    said = [flat_text(shot["caption"]["simple"]) for _, shot in shots(recorded.trace("01-chain"))]
    tossed = [sentence for sentence in said if re.search(COIN, sentence)]
    assert tossed
    assert not any(re.search(r"(?<!almost )(?<![\d.])(100|0) %", each) for each in tossed)


def test_what_may_be_rejected_is_not_kept_with_100_percent():
    for p, q, shown in ((0.997, 0.999, "99.8 %"), (0.99989, 0.99999, "almost 100 %")):
        assert percent(format_ratio(p, q, p / q, 0.3).text["threshold"]) == shown


def test_percentages_keep_the_digits_of_the_probability():
    assert percent("0.85") == "85 %"
    assert percent("0.6351") == "63.51 %"
    assert percent("1") == "100 %"
    assert percent("1.00") == "almost 100 %"
    assert percent("2.4×10⁻⁸") == "almost 0 %"
