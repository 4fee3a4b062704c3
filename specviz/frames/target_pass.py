"""One target pass, position by position, with the most probable tokens at each.

The pass predicts the next token at every position of a branch at once; a rejection discards the
predictions after it. A trace contains the three most probable tokens of each position.
"""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypedDict

from specviz.frames.numbers import format_seconds
from specviz.frames.scene import MayHaveState, Scene, Step, Word, flat
from specviz.frames.tree import State, states
from specviz.texts import Part, say, text

Use = Literal["waiting", "used", "unused"]
FOLLOWED: Final[tuple[State, ...]] = ("accepted", "waiting", "unreached", "rejected")


class Position(MayHaveState):
    """What the pass predicts at a position, and the guess there, if there is one.

    Attributes:
        here: Whether the guess is being judged now.
        top: The most probable tokens, each with p, and p as text.
        rank: The guess's rank among `top`; the length of `top` if the guess is not in it.
        p: If the guess is not in `top`: its p, and p as text.
    """

    at: int
    use: Use
    node: NotRequired[int]
    w: NotRequired[Word]
    here: NotRequired[bool]
    top: NotRequired[list[tuple[Word, float, str]]]
    rank: NotRequired[int]
    p: NotRequired[tuple[float, str]]


class PassColumn(Position):
    """A position with its description for screen readers."""

    label: str


class TargetPass(TypedDict):
    """The pass: a sentence and, once it is scored, one column per position of the branch shown."""

    say: list[Part]
    columns: NotRequired[list[PassColumn]]


def target_pass(scene: Scene, step: Step) -> TargetPass | None:
    """Return the pass at a step; None if the trace does not have the most probable tokens."""
    scored = scene.round.scored
    if step.kind == "propose" or scored is None:
        return {"say": say("step", "pass_ahead")}
    if len(scored.top) != len(scene.guesses) + 1:
        return None
    found = states(scene, step)
    parents = _followed(scene, found)
    columns = [_column(scene, step, found, parent) for parent in parents]
    used = sum(column["use"] == "used" for column in columns)
    facts = {"n": len(columns), "used": used, "time": format_seconds(scored.seconds)}
    branch = len(columns) < len(scored.top)
    macro = {"score": "pass_scored", "judge": "pass_judged"}.get(step.kind, "pass_over")
    return {"say": say("step", macro, **facts, branch=branch), "columns": columns}


def _followed(scene: Scene, found: dict[int, State]) -> list[int]:
    path = [0]
    while children := [child for child in scene.children[path[-1]] if child in found]:
        path.append(min(children, key=lambda child: FOLLOWED.index(found[child])))
    return path


def _column(scene: Scene, step: Step, found: dict[int, State], parent: int) -> PassColumn:
    use = _use(scene, step, found, parent)
    column: Position = {"at": scene.depths[parent] + 1, "use": use}
    node = _guess_after(scene, step, found, parent)
    if node:
        guess = scene.guesses[node - 1]
        column |= {"node": node, "w": scene.word(guess.token), "is": found[node]}
        if step.kind == "judge" and scene.round.judged[step.at].node == node:
            column["here"] = True
    # At temperature 0, the most probable token reveals the verdict.
    if not scene.greedy or use != "waiting":
        _add_answers(column, scene, parent, node)
    return {**column, "label": _label(column)}


def _use(scene: Scene, step: Step, found: dict[int, State], parent: int) -> Use:
    over = step.kind in ("draw", "commit")
    drew = scene.round.drew
    if over and drew is not None and drew.parent == parent:
        return "used"
    if any(found.get(child) in ("accepted", "rejected") for child in scene.children[parent]):
        return "used"
    return "unused" if over or found.get(parent) in ("rejected", "unreached") else "waiting"


def _guess_after(scene: Scene, step: Step, found: dict[int, State], parent: int) -> int:
    # The one being judged, else the one on the branch; or 0.
    children = [child for child in scene.children[parent] if child in found]
    judged = scene.round.judged[step.at].node if step.kind == "judge" else 0
    if judged in children:
        return judged
    return min(children, key=lambda child: FOLLOWED.index(found[child]), default=0)


def _add_answers(column: Position, scene: Scene, parent: int, node: int) -> None:
    # If the guess is not among them, its p is added.
    scored = scene.round.scored
    assert scored is not None
    pairs = [(int(token), p) for token, p in scored.top[parent] if p > 0]
    column["top"] = [(scene.word(token), round(p, 4), _short(p)) for token, p in pairs]
    if node:
        token = scene.guesses[node - 1].token
        places = [place for place, (other, _) in enumerate(pairs) if other == token]
        column["rank"] = places[0] if places else len(pairs)
        if not places:
            p = scored.p[node - 1]
            column["p"] = (round(p, 4), _short(p))


def _short(p: float) -> str:
    return f"{p:.2f}" if p >= 0.005 else "0" if p == 0 else "<0.01"


def _label(column: Position) -> str:
    top = ", ".join(f"‹{flat(word)}› {p}" for word, _, p in column.get("top", ()))
    facts = {"at": column["at"], "top": top, "use": column["use"]}
    guess = f"‹{flat(column['w'])}›" if "w" in column else ""
    extra = column["p"][1] if "p" in column else ""
    return text("step", "pass_column", **facts, guess=guess, p=extra)
