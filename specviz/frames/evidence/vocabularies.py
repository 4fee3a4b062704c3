"""A draft model with another tokenizer: what it read and wrote in its own tokens."""

from __future__ import annotations

from typing import Final

from specviz.frames.evidence.forms import (
    GAP,
    Block,
    Remark,
    facts,
    guessed,
    main_path,
    marked_line,
    span,
)
from specviz.frames.scene import Scene, Step
from specviz.frames.words import word
from specviz.texts import Part, say

SHOWN: Final = 8  # of its own tokens


def rewritten(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """What it wrote in its own tokens, and the same letters in the target's tokens."""
    own = [word(token.encode("latin-1")) for token in remark["written"]]
    if not own:
        return None
    more = [GAP] if len(own) > SHOWN else []
    mine = [guessed(scene, node) for node in main_path(scene, step)]
    blocks = [
        marked_line("its tokens", span("match", own[:SHOWN]), *more),
        marked_line("the guesses", span("copied", mine)),
        facts(("its tokens in the text so far", remark["own_tokens"])),
    ]
    return {"say": say("evidence", "rewritten_why"), "blocks": blocks}


def intersection(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """How many tokens both vocabularies have; it guesses among these."""
    if not remark["own_tokens"]:
        return None
    sizes = facts(
        ("its tokens in the text so far", remark["own_tokens"]),
        ("tokens that both have", remark["shared"]),
        ("tokens of the target", remark["vocabulary"]),
    )
    why = say("evidence", "intersection_why", shared=remark["shared"])
    return {"say": why, "blocks": [sizes]}


def unread(remark: Remark) -> list[Part]:
    """Why nothing is guessed; empty if there was a guess."""
    if not remark["own_tokens"]:
        return say("evidence", "rewritten_unread")
    return say("evidence", "rewritten_no_fit") if remark.get("written") else []
