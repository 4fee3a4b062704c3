"""Evidence of trained heads, which guess in parallel or in sequence, and of dynamic trees.

Parallel heads (Medusa, blockwise, parallel MTP, L-MTP, DFlash) all read the same hidden state.
Sequential ones (EAGLE, MTP) read, in each step, the hidden state of one token and the token after
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from specviz.frames.evidence.forms import (
    MOST_COLUMNS,
    MOST_ROWS,
    Cell,
    FactsBlock,
    GridRow,
    PathRow,
    Remark,
    Why,
    evidence,
    facts,
    format_count,
    grid,
    guess_word,
    main_path,
    path_to,
    position_name,
    row,
    rows,
    shown_nodes,
)
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Scene, Step, Word
from specviz.texts import Part, count, say, text

ORDINALS: Final = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th")
ROW_KEYS: Final = (
    ("given", "the newest token and the target's states"),
    ("own", "a mask: one learned state, no token"),
)
MASK_KEYS: Final = (
    ("given", "the newest token"),
    ("own", "a mask: no token is known yet"),
)
STATE_KEYS: Final = (("given", "the target's own hidden state"), ("own", "the head's own output"))


def side_by_side(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show one row per head, with its candidates by rank."""
    offers = _offers(scene, step)
    if not offers:
        return None
    wide = min(MOST_COLUMNS, max(len(offer) for offer in offers.values()))
    found = [
        row(f"head {head}", list(offer.values())[:wide]) for head, offer in sorted(offers.items())
    ][:MOST_ROWS]
    heads = ["", *(ORDINALS[rank] for rank in range(wide))] if wide > 1 else ["", "its guess"]
    note = text("evidence", "heads_own_probability")
    table = grid(heads, found, more=len(offers) - len(found), note=note)
    return {
        "say": _why_side_by_side(scene, remark, wide),
        "blocks": [table, _read(scene, step, remark)],
    }


def _why_side_by_side(scene: Scene, remark: Remark, wide: int) -> list[Part]:
    if "block" in remark:
        return say("evidence", "heads_block", n=remark["block"] - 1)  # the target makes the first
    if wide == 1:
        return say("evidence", "heads_chain")
    every = _has_all_combinations(scene)
    return say("evidence", "heads_all_combinations" if every else "heads_some_combinations")


def _has_all_combinations(scene: Scene) -> bool:
    # Whether the guesses of a depth all have the same tokens as children.
    by_depth: dict[int, set[tuple[int, ...]]] = {}
    for node, kids in enumerate(scene.children):
        if node and scene.guesses[node - 1].token in scene.header.eos:
            continue  # nothing follows the end of the text
        tokens = tuple(scene.guesses[kid - 1].token for kid in kids)
        by_depth.setdefault(scene.depths[node], set()).add(tokens)
    return all(len(each) == 1 for each in by_depth.values())


def top_or_rank(remark: Remark, guess: Remark, depth: int, token: Part) -> list[Part]:
    """Return the sentence about a guess that is not its head's top token; empty otherwise."""
    rank = guess["path"][-1]
    return say("evidence", "heads_rank", token=token, depth=depth, rank=rank + 1) if rank else []


def _offers(scene: Scene, step: Step) -> dict[int, dict[int, Cell]]:
    offers: dict[int, dict[int, Cell]] = {}
    for node in shown_nodes(scene, step):
        guess = scene.guesses[node - 1]
        given = evidence(guess)
        cell: Cell = {"w": guess_word(scene, node)}
        if guess.score is not None:
            cell["n"] = format_nonzero(guess.score)
        offers.setdefault(given["head"], {})[given["path"][-1]] = cell
    return {head: dict(sorted(offer.items())) for head, offer in offers.items()}


def _read(scene: Scene, step: Step, remark: Remark) -> FactsBlock:
    state = evidence(scene.guesses[shown_nodes(scene, step)[0] - 1])["state"]
    read = facts(("hidden state read by all heads", position_name(state)))
    word = scene.word_at(state)
    if word is not None:
        read["w"] = word
    if "layer" in remark:
        read["facts"].append(("after layer", str(remark["layer"])))
    return read


def leaps(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show one row per state and one column per guess: which head read which state."""
    path = main_path(scene, step)[:MOST_COLUMNS]
    if not path:
        return None
    given = [evidence(scene.guesses[node - 1]) for node in path]
    found = []
    for back in range(remark["leap"] - 1, -1, -1):
        cells: list[Cell] = [
            {"w": guess_word(scene, node), "n": f"head {one['head']}"}
            if one["back"] == back
            else {}
            for node, one in zip(path, given, strict=True)
        ]
        found.append(row(_source(scene, back), cells))
    heads = ["state read", *(f"+{depth}" for depth in range(1, len(path) + 1))]
    return {
        "say": say("evidence", "leaps_why", leap=remark["leap"]),
        "blocks": [grid(heads, found, stacked=True)],
    }


def block(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show every position of DFlash's block with its most probable tokens.

    One pass fills the whole block. Only positions up to γ, and up to the end of the text, become
    guesses.
    """
    positions = remark.get("places")
    if not positions:
        return None
    heads, found = _tops_by_position(scene, positions)
    seen = facts(
        ("hidden states read", remark["states"]),
        ("mask tokens filled", remark["masks"]),
        ("passes", remark["passes"]),
    )
    table = grid(heads, found, stacked=True, more=_hidden(positions))
    return {"say": say("evidence", "block_why"), "blocks": [table, seen]}


def parallel(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show what each row of P-EAGLE's pass read (the first: states; others: masks), and its top."""
    positions = remark.get("places")
    if not positions:
        return None
    heads, found = _tops_by_position(scene, positions)
    seen = facts(("hidden states read", remark["states"]), ("passes", remark["passes"]))
    why = say("evidence", "parallel_why", masks=remark["masks"])
    rows_read = [_read_by_row(scene, len(heads) - 1), *found]
    keys = ROW_KEYS if remark["masks"] else ROW_KEYS[:1]
    table = grid(heads, rows_read, keys, stacked=True, more=_hidden(positions))
    return {"say": why, "blocks": [table, seen]}


def masks(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show what each row of PARD's pass read, its guess and its most probable tokens.

    A sampled guess may not be among the most probable tokens. In a tree, only first siblings are
    shown.
    """
    positions = remark.get("places")
    if not positions:
        return None
    heads, found = _tops_by_position(scene, positions, guessed=False)
    table_rows = [_read_by_row(scene, len(heads) - 1), *found]
    if path := main_path(scene, step)[:MOST_COLUMNS]:
        table_rows.insert(1, row("guess", [_guess(scene, node) for node in path]))
    seen = facts(("rows in the pass", remark["rows"]), ("passes", remark["passes"]))
    why = say("evidence", "masks_why", masks=remark["masks"])
    keys = MASK_KEYS if remark["masks"] else MASK_KEYS[:1]
    table = grid(heads, table_rows, keys, stacked=True, more=_hidden(positions))
    return {"say": why, "blocks": [table, seen]}


def _read_by_row(scene: Scene, count: int) -> GridRow:
    assert scene.round.proposed is not None
    newest: Cell = {"w": scene.word(scene.round.proposed.root), "is": "given"}
    mask: Cell = {"n": "mask", "is": "own"}
    return row("read", [newest, *[mask] * (count - 1)])


def _tops_by_position(
    scene: Scene, positions: list[Any], guessed: bool = True
) -> tuple[list[str], list[GridRow]]:
    # guessed: whether the top tokens are the guesses and are marked as such.
    shown, drafted = positions[:MOST_COLUMNS], len(scene.guesses) if guessed else 0
    ranks = range(max(map(len, shown)))
    found = [row(ORDINALS[rank], [_ranked(scene, here, rank) for here in shown]) for rank in ranks]
    for cell in found[0]["cells"][:drafted]:
        cell["is"] = "guess"
    return ["position", *(f"+{at}" for at in range(1, len(shown) + 1))], found


def _hidden(positions: list[Any]) -> int:
    return max(0, len(positions) - MOST_COLUMNS)


def _ranked(scene: Scene, tops: Sequence[Mapping[str, Any]], rank: int) -> Cell:
    if rank >= len(tops):
        return {}
    return {"w": scene.word(tops[rank]["token"]), "n": format_nonzero(tops[rank]["p"])}


def spark(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show the block of DSpark or DFlash2 up to the newest guess, with predicted acceptance."""
    path = main_path(scene, step)
    shown = path[:MOST_COLUMNS]
    if not shown:
        return None
    given = [evidence(scene.guesses[node - 1]) for node in shown]
    chooses = "candidates" in remark  # DFlash2
    found = [
        row(
            "by itself" if chooses else "uncorrected",
            [_ranked(scene, one["base"], 0) for one in given],
        ),
        row("guess", [_guess(scene, node) for node in shown]),
    ]
    if all("confidence" in one for one in given):
        chances = [format_nonzero(one["confidence"]) for one in given]
        found.append(row("predicted", [{"n": chance} for chance in chances]))
    heads = ["position", *(f"+{at}" for at in range(1, len(shown) + 1))]
    seen = facts(
        ("hidden states read", remark["states"]),
        ("mask tokens filled", remark["masks"]),
        ("passes", remark["passes"]),
    )
    sentence = say("evidence", "spark_why")
    if chooses:
        sentence = say("evidence", "selector_why", n=remark["candidates"])
    if "cut" in remark and len(path) == len(scene.guesses):
        least = format_nonzero(scene.header.settings["confidence"])
        sentence += [
            " ",
            *say("evidence", "spark_cut", p=format_nonzero(remark["cut"]), least=least),
        ]
    more = len(path) - len(shown)
    return {"say": sentence, "blocks": [grid(heads, found, stacked=True, more=more), seen]}


def _guess(scene: Scene, node: int) -> Cell:
    guess = scene.guesses[node - 1]
    cell: Cell = {"w": guess_word(scene, node), "is": "guess"}
    if guess.score is not None:
        cell["n"] = format_nonzero(guess.score)
    return cell


def _source(scene: Scene, back: int) -> str | Word:
    # The newest state belongs to the last token but one, and predicted the last token.
    word = scene.word_at(len(scene.text) - 2 - back) if scene.text else None
    return word or ("newest" if not back else f"{back} before")


def states_read(scene: Scene, step: Step, remark: Remark) -> dict[int, str]:
    """Mark the positions whose states were read for the guesses on screen."""
    read = (evidence(scene.guesses[node - 1]).get("state") for node in shown_nodes(scene, step))
    return {state: "state" for state in read if state is not None}


def features(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show the path of first children: what each step read, and each guess's number of siblings."""
    path = main_path(scene, step)[:MOST_COLUMNS]
    if not path:
        return None
    own = [evidence(scene.guesses[node - 1])["guessed_features"] for node in path]
    found = _read_rows(scene, path, own)
    beside = [len(scene.children[scene.guesses[node - 1].parent]) for node in path]
    if max(beside) > 1:
        cells: list[Cell] = [{"n": f"1st of {siblings}"} for siblings in beside]
        found.append(row("rank" if scene.point_mass else "sampled", cells))
    passes = facts(("passes of the head", remark["passes"]))
    why = say("evidence", "features_why")
    return {"say": why, "blocks": [grid(_step_heads(path), found, STATE_KEYS), passes]}


def modules(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show which module each step of the chain ran, and what it read."""
    path = main_path(scene, step)[:MOST_COLUMNS]
    if not path:
        return None
    given = [evidence(scene.guesses[node - 1]) for node in path]
    ran: list[Cell] = [{"n": str(one["module"])} for one in given]
    found = [row("module", ran), *_read_rows(scene, path, [one["own"] for one in given])]
    n = remark["modules"]
    why = say("evidence", "modules_again") if n == 1 else say("evidence", "modules_once", n=n)
    keys = (STATE_KEYS[0], ("own", "a module's own output"))
    return {"say": why, "blocks": [grid(_step_heads(path), found, keys)]}


def _step_heads(path: list[int]) -> list[str]:
    return ["step", *(f"+{depth}" for depth in range(1, len(path) + 1))]


def _read_rows(scene: Scene, path: list[int], own: list[int]) -> list[GridRow]:
    assert scene.round.proposed is not None
    guesses = [guess_word(scene, node) for node in path]
    tokens = [scene.word(scene.round.proposed.root), *guesses]
    first = scene.word_at(len(scene.text) - 2)
    start: Word = ["the text"] if first is None else first
    read: list[Cell] = [
        {"w": word, "is": "own" if count else "given"}
        for word, count in zip([start, *tokens], own, strict=False)
    ]
    return [
        row("state of", read),
        row("token", [{"w": word} for word in tokens[: len(path)]]),
        row("guess", [{"w": word, "is": "guess"} for word in guesses]),
    ]


BEST = 5


def best_first(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show JetSpec's candidates of each depth, those in use marked, and likely paths on screen."""
    positions, nodes = remark.get("places"), shown_nodes(scene, step)
    if not positions or not nodes:
        return None
    ranked = {node: evidence(scene.guesses[node - 1]) for node in nodes}
    offered = [each[: len(ORDINALS)] for each in positions]
    heads, found = _tops_by_position(scene, offered, guessed=False)
    for rank, each in enumerate(found):
        for depth, cell in enumerate(each["cells"]):
            if any(
                len(one["path"]) > depth and one["path"][depth] == rank for one in ranked.values()
            ):
                cell["is"] = "guess"
    table = grid(heads, found, stacked=True, more=_hidden(positions))
    best = sorted(nodes, key=lambda node: -ranked[node]["total"])[:BEST]
    shown: list[PathRow] = [
        {
            "at": str(place),
            "words": [guess_word(scene, each) for each in path_to(scene, node)],
            "bar": round(math.exp(ranked[node]["total"]), 6),
            "text": [f"{ranked[node]['total']:.2f}"],
        }
        for place, node in enumerate(best, start=1)
    ]
    listed = rows(["rank", "path", "sum of log-probabilities"], shown, len(nodes))
    why = say("evidence", "best_first_why", n=len(positions[0]))
    seen = facts(
        ("hidden states read", remark["states"]),
        ("mask tokens filled", remark["masks"]),
        ("passes", remark["passes"]),
    )
    return {"say": why, "blocks": [table, listed, seen]}


def dynamic(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show the most probable paths on screen, and the settings that limit the tree's size."""
    nodes = shown_nodes(scene, step)
    if not nodes:
        return None
    evidences = {node: evidence(scene.guesses[node - 1]) for node in nodes}
    best = sorted(nodes, key=lambda node: evidences[node]["place"])[:BEST]
    shown: list[PathRow] = [
        {
            "at": str(evidences[node]["place"]),
            "words": [guess_word(scene, each) for each in path_to(scene, node)],
            "bar": round(evidences[node]["path"], 6),
            "text": [format_nonzero(evidences[node]["path"])],
        }
        for node in best
    ]
    listed = rows(["rank", "path", "its probability"], shown, len(nodes))
    why = _chosen(remark["weighed"], remark["kept"])
    return {"say": why, "blocks": [listed, _size(scene, remark), *_taps(scene, remark)]}


def _chosen(considered: int, kept: int) -> list[Part]:
    if considered == kept:
        return say("evidence", "dynamic_all", n=kept)
    return say("evidence", "dynamic_best", considered=considered, kept=kept)


def _size(scene: Scene, remark: Remark) -> FactsBlock:
    settings = scene.header.settings
    named = (("budget", "budget"), ("depth γ", "gamma"), ("fan-out", "fan_out"))
    limits = [(name, settings[key]) for name, key in named if key in settings]
    return facts(*limits, ("passes of the head", remark["passes"]))


def _taps(scene: Scene, remark: Remark) -> list[FactsBlock]:
    if "memory" in remark:  # Mixture of Attentions
        held = count(remark["memory"], "token")
        mixed = f"keys and values of {count(remark['layers'], 'layer')}"
        return [facts(("memory", held), ("mixed from", mixed))]
    if "tap_layers" not in remark:
        return []
    layers = ", ".join(map(str, remark["tap_layers"]))
    proposable = format_count(remark["draft_vocabulary"])
    possible = f"{proposable} of {format_count(scene.header.vocab_size)} tokens"
    return [facts(("reads the output of layers", layers), ("can propose", possible))]
