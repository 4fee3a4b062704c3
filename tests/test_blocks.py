"""The picture of what a position of a block knows: its arrows, its words, and its measurements."""

import json

import pytest

from specviz.compare.storage import FOLDER, read
from specviz.ui.compare import blocks

RACE = max(blocks.recorded.names(), key=blocks.rows)  # shown first


def figure(race):
    """Return the picture of a race as plain data."""
    return json.loads(blocks.respond({"race": race})["picture"])


def arrows(symbol, row):
    """Return how many arrows of a kind end in the row of a method."""
    at = [each.name for each in blocks.METHODS].index(row)
    found = (
        each for each in figure(RACE)["data"] if each.get("marker", {}).get("symbol") == symbol
    )
    return sum(at * blocks.ROW < y < (at + 1) * blocks.ROW for each in found for y in each["y"])


def test_bars_are_the_shares_of_rounds_that_accept_so_many_guesses():
    for trace in read(FOLDER / RACE).traces.values():
        rounds = [each for each in trace.rounds if each.proposed and each.proposed.guesses]
        found = blocks.accepted(trace)
        for least, share in enumerate(found, 1):
            judged = [[e for e in played.judged if e.accepted] for played in rounds]
            count = sum(len(each) >= least for each in judged)
            assert share * max(1, len(rounds)) == pytest.approx(count)


def test_a_race_shows_what_was_measured_and_says_what_was_not():
    drawn = [text for each in figure(RACE)["data"] for text in each.get("text", ())]
    runs = blocks.traces(RACE)
    measured = [each for each in blocks.METHODS if each.family in runs]
    assert {each.name for each in measured} >= {"DFlash", "DSpark", "DFlash2", "JetSpec"}
    assert drawn.count("not measured") == len(blocks.METHODS) - len(measured)
    said = blocks.respond({"race": RACE})["answer"]
    for each in measured:
        share = blocks.accepted(runs[each.family])[blocks.COMPARED - 1]
        assert f"{each.name} {share:.0%}" in said
    assert "None of these" in blocks.respond({"race": "2-repeat"})["answer"]
    with pytest.raises(ValueError, match="no such race"):
        blocks.respond({"race": "../1-story"})


def test_words_of_the_picture_follow_each_other_in_the_text_of_the_race():
    runs = blocks.traces(RACE)
    trace = runs["dflash"]
    said = [trace.vocabulary[token].decode().strip() for token in blocks.metrics.token_ids(trace)]
    shown = blocks.words(runs)
    assert len({*shown}) == blocks.GUESSES + 1
    assert any(said[at : at + len(shown)] == shown for at in range(len(said)))


def test_arrows_say_which_chosen_guesses_and_which_states_a_position_reads():
    guesses = blocks.GUESSES
    for name, chosen in {
        "DFlash": 0, "JetSpec": 0, "DSpark": guesses - 1, "DFlash2": guesses - 1,
        "XPress": guesses * (guesses - 1) // 2, "EAGLE-3": guesses * (guesses - 1) // 2,
    }.items():  # fmt: skip
        assert arrows("triangle-down", name) == chosen, name
    later = [each.name for each in blocks.METHODS if arrows("triangle-left", each.name)]
    assert later == ["DFlash", "DSpark", "DFlash2", "XPress"]
    assert arrows("triangle-right", "JetSpec") == 1


def test_every_method_of_a_recipe_is_measured_in_its_race():
    for name in blocks.recorded.names():
        families = blocks.traces(name).keys() & {each.family for each in blocks.METHODS}
        assert blocks.rows(name) <= len(families)
