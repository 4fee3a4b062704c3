"""Heads that guess side by side: Medusa's, blockwise, parallel MTP layers, and L-MTP's leaps."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.frames.evidence.forms import (
    MOST_COLUMNS,
    MOST_ROWS,
    Block,
    Cell,
    Part,
    Remark,
    evidence,
    facts,
    grid,
    guessed,
    main_path,
    row,
    text_place,
    visible,
)
from specviz.frames.numbers import visible as digits
from specviz.frames.scene import Scene, Step
from specviz.frames.words import Word

ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th")


def side_by_side(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """A row a head, its candidates by rank."""
    offers = _offers(scene, step)
    if not offers:
        return None
    wide = min(MOST_COLUMNS, max(len(offer) for offer in offers.values()))
    found = [
        row(f"head {head}", list(offer.values())[:wide]) for head, offer in sorted(offers.items())
    ][:MOST_ROWS]
    heads = ["", *(ORDINALS[rank] for rank in range(wide))] if wide > 1 else ["", "its guess"]
    said = "Beside a word: its own head's probability, which no verdict uses."
    table = grid(heads, found, more=len(offers) - len(found), note=said)
    return {"say": [_sentence(scene, remark, wide)], "blocks": [table, _read(scene, step, remark)]}


def _sentence(scene: Scene, remark: Remark, wide: int) -> str:
    if "block" in remark:
        block = f"A block of {remark['block']} at once"
        return f"{block}: every head reads one state and sees no other head's guess."
    if wide > 1 and _full(scene):
        return "No head sees another's guess: every parent at a depth gets the same candidates."
    if wide > 1:
        return (
            "No head sees another's guess. Its candidates are one list, "
            "of which each parent gets some or none."
        )
    return "All heads read the same at once; none sees what another guesses."


def _full(scene: Scene) -> bool:
    """Whether the tree has every combination: at a depth all guesses, or none, lead to the same."""
    by_depth: dict[int, set[tuple[int, ...]]] = {}
    for node, kids in enumerate(scene.children):
        if node and scene.guesses[node - 1].token in scene.header.eos:
            continue  # nothing follows an end of the text
        tokens = tuple(scene.guesses[kid - 1].token for kid in kids)
        by_depth.setdefault(scene.depths[node], set()).add(tokens)
    return all(len(each) == 1 for each in by_depth.values())


def top_or_rank(remark: Remark, guess: Remark, depth: int, words: Sequence[Part]) -> list[Part]:
    """The sentence of one guess that is not its head's top token; [] where it is."""
    rank = guess["path"][-1]
    if not rank:
        return []
    return [f"At +{depth} stands ", *words, f", number {rank + 1} of its head's candidates."]


def _offers(scene: Scene, step: Step) -> dict[int, dict[int, Cell]]:
    """By head and rank, the candidate and its head's own probability."""
    offers: dict[int, dict[int, Cell]] = {}
    for node in visible(scene, step):
        guess = scene.guesses[node - 1]
        said = evidence(guess)
        cell: Cell = {"w": guessed(scene, node)}
        if guess.score is not None:
            cell["n"] = digits(guess.score)
        offers.setdefault(said["head"], {})[said["path"][-1]] = cell
    return {head: dict(sorted(offer.items())) for head, offer in offers.items()}


def _read(scene: Scene, step: Step, remark: Remark) -> Block:
    """What all heads read: one state, and of which layer where that is told."""
    state = evidence(scene.guesses[visible(scene, step)[0] - 1])["state"]
    read = facts(("all read the state at", text_place(state)))
    word = scene.spoken(state)
    if word is not None:
        read["w"] = word
    if "layer" in remark:
        read["facts"].append(["after layer", str(remark["layer"])])
    return read


def leaps(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """A row a state that was read, a column a guess: which of them made which."""
    path = main_path(scene, step)[:MOST_COLUMNS]
    if not path:
        return None
    said = [evidence(scene.guesses[node - 1]) for node in path]
    found = []
    for back in range(remark["leap"] - 1, -1, -1):
        cells: list[Cell] = [
            {"w": guessed(scene, node), "n": f"head {why['head']}"} if why["back"] == back else {}
            for node, why in zip(path, said, strict=True)
        ]
        found.append(row(_source(scene, back), cells))
    heads = ["state read", *(f"+{depth}" for depth in range(1, len(path) + 1))]
    leap = remark["leap"]
    say = f"Each head guesses {leap} places beyond the one before; older states fill the gaps."
    return {"say": [say], "blocks": [grid(heads, found, stacked=True)]}


def block(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """DFlash: every place of the block with its likeliest tokens. All of it from the first step
    on, since one pass made it whole; places that are no guess (beyond γ or the end) are said so.
    """
    places = remark.get("places")
    if not places:
        return None
    shown, drafted = places[:MOST_COLUMNS], len(scene.guesses)
    found = [
        row(
            ORDINALS[rank],
            [
                {"w": scene.word(here[rank]["token"]), "n": digits(here[rank]["p"])}
                | ({"is": "guess"} if rank == 0 and at < drafted else {})
                if rank < len(here)
                else {}
                for at, here in enumerate(shown)
            ],
        )
        for rank in range(max(map(len, shown)))
    ]
    heads = ["place", *(f"+{at}" for at in range(1, len(shown) + 1))]
    seen = facts(
        ("states of the text read", remark["states"]),
        ("masks filled", remark["masks"]),
        ("passes", remark["passes"]),
    )
    table = grid(heads, found, stacked=True, more=len(places) - len(shown))
    say = "One pass fills the whole block: every place at once, none sees what another took."
    return {"say": [say], "blocks": [table, seen]}


def _source(scene: Scene, back: int) -> str | Word:
    """The newest state is that of the last token but one, which predicted the last."""
    word = scene.spoken(len(scene.text) - 2 - back) if scene.text else None
    return word or ("newest" if not back else f"{back} before")


def states_read(scene: Scene, step: Step, remark: Remark) -> dict[int, str]:
    """By place in the text: the states that the guesses on screen were read from."""
    said = (evidence(scene.guesses[node - 1]).get("state") for node in visible(scene, step))
    return {state: "state" for state in said if state is not None}
