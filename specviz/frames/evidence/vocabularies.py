"""A draft model with another tokenizer: what it read and wrote in tokens of its own."""

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
    number,
    span,
)
from specviz.frames.scene import Scene, Step
from specviz.frames.words import word

SHOWN: Final = 8  # of its own tokens


def rewritten(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """What it wrote in its own tokens, and the target's tokens that stand for it."""
    own = [word(said.encode("latin-1")) for said in remark["written"]]
    if not own:
        return None
    more = [GAP] if len(own) > SHOWN else []
    mine = [guessed(scene, node) for node in main_path(scene, step)]
    say = (
        "The draft model, with another tokenizer, wrote on in its own tokens. The target's "
        "writes the same letters as guesses."
    )
    blocks = [
        marked_line("its tokens", span("match", own[:SHOWN]), *more),
        marked_line("the guesses", span("copied", mine)),
        facts(("its tokens in the text so far", remark["own_tokens"])),
    ]
    return {"say": [say], "blocks": blocks}


def intersection(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """How many tokens both have, among which it guesses."""
    if not remark["own_tokens"]:
        return None
    say = (
        f"The draft model has another tokenizer. It guesses among the {number(remark['shared'])} "
        "tokens that both have."
    )
    sizes = facts(
        ("its tokens in the text so far", remark["own_tokens"]),
        ("tokens that both have", remark["shared"]),
        ("tokens of the target", remark["vocabulary"]),
    )
    return {"say": [say], "blocks": [sizes]}


def unread(remark: Remark) -> str | None:
    """Why nothing is guessed; None where it guessed."""
    if not remark["own_tokens"]:
        return (
            "The text is longer than the draft model can see, or its tokenizer cannot write it, so "
            "there is no guess"
        )
    if remark.get("written"):
        return "What the draft model wrote cannot follow the text's last letters: there is no guess"
    return None
