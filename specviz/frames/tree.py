"""The draft tree and the text strip as data: guesses with their states, chips and chat turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple, NotRequired, TypedDict

from specviz.frames.leaf_first import Need, next_judged
from specviz.frames.scene import HasState, MayHaveState, Scene, Step, TokenState, Word
from specviz.frames.whatif import Bounds, acceptance_bounds, required_verdicts
from specviz.trace.chat import Chat, PieceKind
from specviz.trace.events import Judged, Scored
from specviz.trace.metrics import accepted_path, path_after

State = Literal["waiting", "accepted", "rejected", "unreached"]


def verdicts_at(scene: Scene, step: Step) -> list[Judged]:
    """Return the verdicts that are known at a step."""
    if step.kind == "judge":
        return scene.round.judged[: step.at + 1]
    return scene.round.judged if step.kind in ("draw", "commit") else []


def states(scene: Scene, step: Step) -> dict[int, State]:
    """Return, by node, the state of each guess on screen, according to the verdicts so far."""
    depth = step.at if step.kind == "propose" else max(scene.depths)
    found: dict[int, State] = {}
    known = verdicts_at(scene, step)
    verdicts = {j.node: j.accepted for j in known}
    # A guess may also be accepted because a later one is.
    verdicts |= dict.fromkeys(path_after(scene.round, known), True)
    over = step.kind in ("draw", "commit")
    for node, guess in enumerate(scene.guesses, 1):
        if scene.depths[node] > depth:
            continue
        if node in verdicts:
            found[node] = "accepted" if verdicts[node] else "rejected"
        elif over or _out_of_reach(found, guess.parent, scene.children[guess.parent], verdicts):
            found[node] = "unreached"
        else:
            found[node] = "waiting"
    return found


def _out_of_reach(
    found: dict[int, State], parent: int, siblings: Sequence[int], verdicts: dict[int, bool]
) -> bool:
    if found.get(parent) in ("rejected", "unreached"):
        return True
    return any(verdicts.get(sibling) for sibling in siblings)


def open_slot(scene: Scene, step: Step) -> int | None:
    """Return the parent of the round's last token; None while guesses still have to be judged.

    This is determined by the verdicts so far. From the root down, judging ends with a rejection if
    no sibling is left, or with an accepted leaf. From the leaf up, it ends with any accepted guess,
    or with the rejection of the last guess.
    """
    if step.kind in ("draw", "commit"):
        return scene.round.drew.parent if scene.round.drew else None
    if step.kind != "judge":
        return None
    judged = scene.round.judged[step.at]
    guess = scene.guesses[judged.node - 1]
    if judged.accepted:
        goes_on = scene.children[judged.node] and not scene.leaf_first
        return None if goes_on or guess.token in scene.header.eos else judged.node
    if scene.leaf_first:
        return None if next_judged(scene, judged.node) else 0
    left = states(scene, step)
    siblings = scene.children[guess.parent]
    return None if any(left[n] == "waiting" for n in siblings) else guess.parent


class Scores(TypedDict):
    """A guess's p; at temperature 0 the softmax at temperature 1, since p would be the verdict."""

    p: NotRequired[float]
    soft: NotRequired[float]


class GuessNode(HasState, Scores):
    """A guess.

    Attributes:
        left: p′, once a verdict has used it.
        left_q: q′, once a verdict has used it.
    """

    w: Word
    parent: int
    depth: int
    q: NotRequired[float]
    left: NotRequired[float]
    left_q: NotRequired[float]


class Node(GuessNode):
    """A guess before it is drawn. top: the most probable tokens after it, and their p."""

    top: NotRequired[list[tuple[Word, float]]]


class Slot(MayHaveState):
    """The position of the round's last token, with its word once it is sampled."""

    parent: int
    depth: int
    w: NotRequired[Word]


class TreeState(TypedDict):
    """A tree without its nodes.

    Attributes:
        ways: For each node, the verdicts that would put it into the text; missing at temperature 0.
        chances: For each node, bounds of its probability of acceptance, as far as they are known.
    """

    root: Word
    ways: NotRequired[dict[str, list[Need]]]
    chances: NotRequired[dict[str, Bounds]]
    here: NotRequired[int]


class Tree(TreeState):
    """The tree at a step; `shape` has the parents of the whole draft, so that nodes do not move."""

    nodes: dict[str, Node]
    shape: list[int]
    slot: NotRequired[Slot]


def nodes(scene: Scene, step: Step) -> dict[str, Node]:
    """Return the guesses on screen."""
    scored = scene.round.scored if step.kind != "propose" else None
    found: dict[str, Node] = {}
    verdicts = {judged.node: judged for judged in verdicts_at(scene, step)}
    for node, state in states(scene, step).items():
        guess = scene.guesses[node - 1]
        view: Node = {
            "w": scene.word(guess.token),
            "parent": guess.parent,
            "depth": scene.depths[node],
            "is": state,
        }
        if node in scene.q:
            view["q"] = round(scene.q[node], 6)
        if scored is not None:
            view = {**view, **scores_of(scored, node)}
            if scored.soft is None and node < len(scored.top):
                view["top"] = [(scene.word(int(t)), round(p, 6)) for t, p in scored.top[node]]
        if node in verdicts:
            _add_remainders(view, scene, verdicts[node])
        found[str(node)] = view
    return found


def _add_remainders(view: Node, scene: Scene, judged: Judged) -> None:
    # p′ of all siblings but the first; q′ if siblings were sampled without replacement.
    if scene.uses_p_remainder(judged):
        view["left"] = round(judged.inputs["p"], 6)
    if scene.uses_q_remainder(judged):
        view["left_q"] = round(judged.inputs["q"], 6)


def scores_of(scored: Scored, node: int) -> Scores:
    """Return the score of a guess."""
    if scored.soft is None:
        return {"p": round(scored.p[node - 1], 6)}
    return {"soft": round(scored.soft[node - 1], 6)}


def tree(scene: Scene, step: Step) -> Tree:
    """Return the tree at a step: root, guesses, and the position of the last token."""
    root = scene.round.proposed.root if scene.round.proposed else scene.header.prompt_ids[-1]
    shape = [guess.parent for guess in scene.guesses]
    view: Tree = {"root": scene.word(root), "nodes": nodes(scene, step), "shape": shape}
    if not scene.greedy:
        view["ways"] = required_verdicts(scene)
    if step.kind != "propose" and (bounds := acceptance_bounds(scene, verdicts_at(scene, step))):
        view["chances"] = bounds
    if step.kind == "judge":
        view["here"] = scene.round.judged[step.at].node
    slot = open_slot(scene, step)
    if slot is not None:
        view["slot"] = {"parent": slot, "depth": scene.depths[slot] + 1}
        if step.kind in ("draw", "commit") and scene.round.drew:
            drew = scene.round.drew
            view["slot"] |= {"w": scene.word(drew.token), "is": drew.kind}
    return view


class Chip(HasState):
    """A token of the text strip. node: the node, if it is a guess."""

    w: Word
    node: NotRequired[int]


TextPart = TypedDict("TextPart", {"is": PieceKind, "t": str})  # a piece of the prompt, with author


class TurnBlock(TypedDict):
    """A turn of a chat prompt. role: the speaker; empty for raw text."""

    role: str
    parts: list[TextPart]


TEMPLATE: Final = "template"  # role of the text that the chat template adds between turns


def chips(scene: Scene, step: Step) -> list[Chip]:
    """Return one chip per token of the branch that is shown, with siblings rejected before."""
    if step.kind == "commit":
        return [{"w": token.word, "is": token.kind} for token in added_tokens(scene)]
    found = states(scene, step)
    line: list[Chip] = []
    node: int | None = 0
    while node is not None:
        node, passed = _next(scene, found, node)
        line += [_chip(scene, found, child) for child in passed]
    if step.kind == "draw" and scene.round.drew:
        # The sampled token replaces the guesses that were not judged, and those after a rejected
        # guess.
        last = scene.depths[scene.round.drew.parent] + 1
        line = [c for c in line if c["is"] != "unreached" and scene.depths[c["node"]] <= last]
        line.append({"w": scene.word(scene.round.drew.token), "is": scene.round.drew.kind})
    return line


def _next(scene: Scene, found: dict[int, State], node: int) -> tuple[int | None, list[int]]:
    shown = [child for child in scene.children[node] if child in found]
    rejected = [child for child in shown if found[child] == "rejected"]
    for state in ("accepted", "waiting", "unreached"):
        onward = next((child for child in shown if found[child] == state), None)
        if onward is not None:
            return onward, [*[c for c in rejected if c < onward], onward]
    return (rejected[-1] if rejected else None), rejected


def _chip(scene: Scene, found: dict[int, State], node: int) -> Chip:
    token = scene.guesses[node - 1].token
    return {"w": scene.word(token), "is": found[node], "node": node}


class AddedToken(NamedTuple):
    """A token that a round added to the text: its kind, and the step that decided it."""

    word: Word
    kind: TokenState
    step: int


def added_tokens(scene: Scene) -> list[AddedToken]:
    """Return the tokens that a round added to the text."""
    committed = scene.round.committed
    if committed is None:
        return []
    accepted = accepted_path(scene.round)
    by = next((j.node for j in reversed(scene.round.judged) if j.accepted), 0)
    last: TokenState = scene.round.drew.kind if scene.round.drew else "accepted"
    decided = {
        scene.round.judged[step.at].node: i
        for i, step in enumerate(scene.steps)
        if step.kind == "judge"
    }
    drawn = next((i for i, step in enumerate(scene.steps) if step.kind == "draw"), 0)
    return [
        AddedToken(scene.word(token), "accepted", decided.get(accepted[index], decided.get(by, 0)))
        if index < len(accepted)
        else AddedToken(scene.word(token), last, drawn)
        for index, token in enumerate(committed.tokens)
    ]


def turns(chat: Chat) -> list[TurnBlock]:
    """Split a chat prompt into turns, the last one being the start of the answer."""
    roles: list[str] = [*(turn.role for turn in chat.turns), "assistant"]
    blocks: list[TurnBlock] = []
    for index, pieces in groupby(chat.pieces, lambda piece: piece.turn):
        parts: list[TextPart] = [{"is": each.kind, "t": each.text} for each in pieces if each.text]
        has_text = any(part["is"] == "template" and part["t"].strip() for part in parts)
        role = roles[index] if index is not None else TEMPLATE if has_text else ""
        blocks.append({"role": role, "parts": parts})
    return blocks
