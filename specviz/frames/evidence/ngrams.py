"""Evidence of n-grams: a match in the text, suffix counts, and lookahead's pool."""

from __future__ import annotations

from typing import Any, Final

from specviz.frames.evidence.forms import (
    GAP,
    MOST_COLUMNS,
    GridBlock,
    LineBlock,
    PathRow,
    Remark,
    RowsBlock,
    Span,
    Why,
    depth_label,
    evidence,
    facts,
    format_count,
    grid,
    guess_word,
    main_path,
    marked_line,
    position_name,
    row,
    rows,
    shown_nodes,
    span,
    text_words,
    window,
)
from specviz.frames.scene import Scene, Step
from specviz.texts import Part, count, say, text

NEAR: Final = 2  # number of tokens shown before a match
LONG: Final = 4  # number of tokens of a match that are shown, the last ones
TRIED: Final = 3  # number of lookahead's n-grams shown


def match(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show the match and what followed it."""
    if "start" not in remark:
        return None
    why = say("evidence", "match_why", length=remark["length"])
    return {"say": why, "blocks": _match_lines(scene, step, remark)}


def counts(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show the match and how often each guess followed it."""
    if "start" not in remark:
        return None
    shown: list[PathRow] = [
        {
            "at": depth_label(scene, node),
            "words": [guess_word(scene, node)],
            "bar": round(given["count"] / given["total"], 6),
            "text": [f"{given['count']:,} of {count(given['total'], 'time')}"],
        }
        for node in window(scene, step, 5)
        for given in [evidence(scene.guesses[node - 1])]
    ]
    listed = rows(["", "guess", "times it came next"], shown, len(shown_nodes(scene, step)))
    why = say("evidence", "counts_why", length=remark["length"])
    return {"say": why, "blocks": [*_match_lines(scene, step, remark), listed]}


def copied(remark: Remark, guess: Remark, depth: int, token: Part) -> list[Part]:
    """Return the sentence about one copied guess; empty if the match is unknown."""
    if "length" not in remark:
        return []
    if depth > 1:
        return say("evidence", "match_next", token=token, depth=depth)
    return say("evidence", "match_first", length=remark["length"], token=token)


def counted(remark: Remark, guess: Remark, depth: int, token: Part) -> list[Part]:
    """Return the sentence about one guess selected by counts; empty if the match is unknown."""
    if "length" not in remark:
        return []
    given = {"length": remark["length"], "depth": depth, "token": token}
    seen, total = guess["count"], guess["total"]
    if total == 1:
        return say("evidence", "counts_once", **given)
    return say("evidence", "counts_often", seen=seen, total=total, **given)


def no_match(remark: Remark) -> list[Part]:
    """Return why nothing is copied; empty if there was a match."""
    return [] if "start" in remark else say("evidence", "match_nothing")


def _match_lines(scene: Scene, step: Step, remark: Remark) -> list[LineBlock]:
    start, length, end = remark["start"], remark["length"], len(scene.text)
    path = _copied(scene, step, start + length)
    then = [scene.text[evidence(scene.guesses[n - 1])["from"]] for n in path] if end else []
    earlier = [scene.word(token) for token in then]
    mine = [guess_word(scene, node) for node in main_path(scene, step)]
    return [
        marked_line(
            f"from {position_name(start)}", *_matched(scene, start, length), span("copied", earlier)
        ),
        marked_line(
            "end of the text", *_matched(scene, end - length, length), span("copied", mine)
        ),
    ]


def _matched(scene: Scene, start: int, length: int) -> list[Span]:
    if length > LONG:
        shown = text_words(scene, start + length - LONG, start + length)
        return [span("gap", [[f"… {format_count(length - LONG)} more"]]), span("match", shown)]
    near = text_words(scene, start - NEAR, start)
    before = [GAP] if start > NEAR else []
    return [*before, span("near", near), span("match", text_words(scene, start, start + length))]


def _copied(scene: Scene, step: Step, first: int) -> list[int]:
    path: list[int] = []
    for node in main_path(scene, step):
        source = evidence(scene.guesses[node - 1]).get("from")
        if source != first + len(path) or source >= len(scene.text):
            break
        path.append(node)
    return path


def matches(scene: Scene, step: Step, remark: Remark) -> dict[int, str]:
    """Mark the earlier occurrence, the end of the text that equals it, and the copied tokens."""
    if "start" not in remark:
        return {}
    length: int = remark["length"]
    marked: dict[int, str] = {}
    for start in (remark["start"], len(scene.text) - length):
        marked |= dict.fromkeys(range(start, start + length), "match")
    sources: list[Any] = [
        evidence(scene.guesses[n - 1]).get("from") for n in shown_nodes(scene, step)
    ]
    return marked | {source: "copied" for source in sources if source is not None}


def lookahead(scene: Scene, step: Step, remark: Remark) -> Why | None:
    """Show the n-grams used, where they were found, and the extra rows of the pass."""
    sizes = facts(
        ("n-grams in the pool", remark["pool"]),
        ("guesses in this pass", remark["rows_verified"]),
        ("window rows in this pass", remark["rows_window"]),
    )
    blocks = [_tried(scene, step, remark), _window(scene, remark), sizes]
    return {"say": _source(remark), "blocks": [block for block in blocks if block is not None]}


def _source(remark: Remark) -> list[Part]:
    if remark.get("filling"):
        return say("evidence", "lookahead_filling")
    return say("evidence", "lookahead_why" if remark["rows_window"] else "lookahead_no_window")


def pooled(remark: Remark, guess: Remark, depth: int, token: Part) -> list[Part]:
    """Return the sentence about one guess from an n-gram of the pool."""
    return say("evidence", "lookahead_guess", token=token, depth=depth)


def no_ngram(remark: Remark) -> list[Part]:
    """Return why no n-gram is used."""
    return say("evidence", "lookahead_nothing", filling=bool(remark.get("filling")))


def _tried(scene: Scene, step: Step, remark: Remark) -> RowsBlock | None:
    # Cut after the guesses on screen.
    depth = step.at if step.kind == "propose" else max(scene.depths)
    found: dict[int, str] = {}
    for node in shown_nodes(scene, step):
        given = evidence(scene.guesses[node - 1])
        found.setdefault(given["ngram"], f"round {given['round']}, column {given['column']}")
    shown: list[PathRow] = [
        {
            "at": "",
            "words": [scene.word(token) for token in remark["ngrams"][index][: depth + 1]],
            "text": [where],
        }
        for index, where in list(found.items())[:TRIED]
    ]
    return rows(["", "n-gram tried", "found in"], shown, len(found)) if shown else None


def _window(scene: Scene, remark: Remark) -> GridBlock | None:
    # The root is column 0 of level 0.
    levels = remark["window"]
    if not levels:
        return None
    assert scene.round.proposed is not None
    wide = max(len(levels[0]) + 1, *map(len, levels)) if len(levels) > 1 else len(levels[0]) + 1
    columns = min(wide, MOST_COLUMNS)
    table = [[scene.round.proposed.root, *levels[0]], *levels[1:]]
    found = [
        row(f"row {level}", [{"w": scene.word(token)} for token in tokens[:columns]])
        for level, tokens in enumerate(table)
    ]
    found[0]["cells"][0]["is"] = "root"
    heads = ["window", *(str(column) for column in range(columns))]
    left = count(wide - columns, "more column") if wide > columns else ""
    # Until the window is full, its columns are too short to be n-grams.
    read = "" if remark.get("filling") else text("evidence", "lookahead_read_down")
    return grid(heads, found, note=" ".join(filter(None, [read, left])))
