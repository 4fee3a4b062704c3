"""Forged traces with a text unlike its tokens, or with events in the wrong order."""

from __future__ import annotations

import pytest
from forging import Forgery, events, first, header, move, refused


def spell(token, spelling):
    """Change the spelling of a token everywhere."""

    def change(lines):
        for line in events(lines, "vocabulary"):
            if token in line["tokens"]:
                line["tokens"][token] = spelling

    return change


def forget(token):
    """Remove the spelling of a token."""
    return lambda lines: [d["tokens"].pop(token, None) for d in events(lines, "vocabulary")]


def again(token, spelling):
    """Spell a token a second time."""
    return lambda lines: lines.append({"event": "vocabulary", "tokens": {token: spelling}})


def ids(change):
    """Change the prompt's tokens."""
    return lambda lines: change(lines[0]["prompt_ids"])


def piece(kind, **values):
    """Change the first piece of this kind of a chat."""

    def change(lines):
        pieces = lines[0]["chat"]["pieces"]
        next(each for each in pieces if each["kind"] == kind).update(values)

    return change


def swap(event, other):
    """Swap the first events of two kinds."""

    def change(lines):
        one, two = first(lines, event), first(lines, other)
        a, b = lines.index(one), lines.index(two)
        lines[a], lines[b] = two, one

    return change


def to_end(event):
    """Move the first event of a kind to the end."""
    return lambda lines: move(lines, first(lines, event), len(lines))


def baseline_first(lines):
    move(lines, first(lines, "baseline"), 2)
    for line in events(lines, "vocabulary")[1:]:
        move(lines, line, 2)


def before_end(lines):
    """Move plain decoding before the run's end."""
    move(lines, first(lines, "finished"), len(lines))


def judged_late(lines):
    """Move the last verdict of a round behind its draw."""
    drew = first(lines, "drew")
    at = lines.index(drew)
    move(lines, lines[at - 1], at)


def twice(event):
    """Repeat the first event of a kind."""

    def change(lines):
        line = first(lines, event)
        lines.insert(lines.index(line), line)

    return change


PROMPTS: dict[str, Forgery] = {
    "another prompt": ("06a", header(prompt="Once upon a time, there was a boy"), "do not spell"),
    "a letter of the prompt": (
        "06a", lambda d: d[0].update(prompt=d[0]["prompt"].replace("Mia", "Mie")), "do not spell",
    ),
    "a comma of the prompt": (
        "06a", lambda d: d[0].update(prompt=d[0]["prompt"].replace(",", "")), "do not spell",
    ),
    "a longer prompt": ("02", lambda d: d[0].update(prompt=d[0]["prompt"] + " so"), "not spell"),
    "another token": ("06a", ids(lambda found: found.__setitem__(5, 750)), "do not spell"),
    "a token less": ("06a", ids(lambda found: found.pop(6)), "do not spell|Round 1"),
    "a token more": ("06a", ids(lambda found: found.insert(1, 310)), "do not spell"),
    "a token of the prompt without bytes": ("06a", forget("620"), "tokens .620. of the prompt"),
    "a token of the prompt spelled otherwise": ("06a", spell("1593", " Ann"), "do not spell"),
    "what a template wrote": (
        "27", piece("template", text="assistant\n"), "do not spell|its special",
    ),
    "what a person typed": ("27", piece("typed", text="something else"), "is not the typed text"),
    "a special token of a chat": ("27", piece("special", text="<|other|>"), "not spelled"),
    "a token of a chat": (
        "28", ids(lambda found: found.__setitem__(-8, found[-9])), "spell|one|not its token",
    ),
    "a typed piece of more tokens": ("27", piece("typed", tokens=10**9), "are not all of"),
    "a piece that belongs to no turn": ("27", piece("typed", turn=10**30), "not in the order"),
}  # fmt: skip

SPELLINGS: dict[str, Forgery] = {
    "a second spelling": ("06a", again("12", ";"), "token 12 has two spellings"),
    "a token beyond the vocabulary": ("06a", again("99999", "x"), "'99999' is not a token id"),
    "a token below 0": ("06a", again("-3", "x"), "'-3' is not a token id"),
    "a token with a zero before it": ("06a", again("012", ","), "'012' is not a token id"),
    "a token in other figures": ("06a", again("١٢", ","), "is not a token id"),
    "a token that is a word": ("06a", again("twelve", ","), "'twelve' is not a token id"),
    "a token of many figures": ("06a", again("9" * 5000, ","), "is not a token id"),
    "a spelling beyond latin-1": ("06a", again("7", "“"), "the bytes of token 7 are not latin-1"),
    "a spelling with a fox": ("06a", spell("12", "🦊"), "are not latin-1 text"),
    "a spelling that comes too late": (
        "06a", lambda d: move(d, events(d, "vocabulary")[1], len(d)), "no bytes for tokens",
    ),
    "no spelling of a likeliest token": ("06a", forget("2100"), "no bytes for tokens .2100"),
    "no spelling of a plain token": ("06a", forget("1566"), "Baseline: no bytes for tokens"),
}  # fmt: skip

ORDERS: dict[str, Forgery] = {
    "scored before it was proposed": ("06a", swap("proposed", "scored"), "'proposed' comes after"),
    "judged after the draw": ("06a", judged_late, "'judged' comes after 'drew'"),
    "judged before it was scored": ("02", swap("scored", "judged"), "'scored' comes after"),
    "drawn after it was committed": ("06a", swap("drew", "committed"), "'drew' comes after"),
    "drawn in another round": ("06a", to_end("drew"), "Round|round"),
    "plain decoding first": ("06a", baseline_first, "Baseline: it comes before the run's end"),
    "plain decoding before the end": ("09", before_end, "Baseline: it comes before the run's end"),
    "a second plain decoding": ("06a", twice("baseline"), "a second 'baseline' event"),
    "a second end": ("06a", twice("finished"), "a second 'finished' event"),
    "a second proposal": ("06a", twice("proposed"), "a second 'proposed' event"),
    "a second pass": ("06a", twice("scored"), "a second 'scored' event"),
    "a second draw": ("06a", twice("drew"), "a second 'drew' event"),
    "a verdict twice": ("06a", twice("judged"), "in the wrong order|not judged|α is given at"),
    "a round after the end": ("06a", to_end("committed"), "Round"),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_check_detects_a_prompt_that_differs_from_its_tokens(name):
    refused(PROMPTS[name])


@pytest.mark.parametrize("name", SPELLINGS)
def test_check_detects_contradictory_texts_of_one_token(name):
    refused(SPELLINGS[name])


@pytest.mark.parametrize("name", ORDERS)
def test_check_detects_events_in_the_wrong_order(name):
    refused(ORDERS[name])
