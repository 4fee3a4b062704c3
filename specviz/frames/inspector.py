"""What the panel beside the tree shows: the guesses, the token on trial, a draw, or the round."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from specviz.frames.draw import awaited, drawn
from specviz.frames.evidence import thrown, why
from specviz.frames.evidence.forms import path_to
from specviz.frames.leaf_first import bars, because, explained
from specviz.frames.numbers import numbers, seconds
from specviz.frames.scene import Scene, Step
from specviz.frames.table import table
from specviz.frames.tree import open_slot, seen
from specviz.frames.whatif import outcomes
from specviz.frames.words import Word
from specviz.trace.events import Drew, Judged
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import AfterRejection

Panel = dict[str, Any]


BESIDE_EVIDENCE: Final = 6  # guesses in the list where the reasons stand under it


def inspector(scene: Scene, step: Step) -> Panel:
    """The panel of a step; `kind` says which of the four it is."""
    match step.kind:
        case "propose" | "score":
            panel, told = _guesses(scene, step), why(scene, step)
            return panel if told is None else _shortened(panel, step) | {"why": told}
        case "judge":
            judged = scene.round.judged[step.at]
            laws_from = explained(scene, judged)
            panel = _trial(scene, judged) | {"table": table(scene, laws_from)}
            if not scene.greedy:
                panel["whatif"] = outcomes(scene, judged)
            waits = (
                laws_from is judged
                and not judged.accepted
                and scene.after_rejection is AfterRejection.RESIDUAL
            )
            if waits and not scene.greedy and open_slot(scene, step) is not None:
                panel["draw"] = awaited(scene, judged)
            return panel
        case "draw":
            assert scene.round.drew is not None
            return _draw(scene, scene.round.drew)
        case "commit":
            return _round(scene)


def _guesses(scene: Scene, step: Step) -> Panel:
    """Every guess so far with its q, and with its p once the target has scored them all."""
    if not scene.guesses:
        return {"kind": "empty", "rows": _next_tokens(scene, step)}
    depth = max(scene.depths) if step.kind == "score" else step.at
    scored = scene.round.scored if step.kind == "score" else None
    rows: list[Panel] = []
    apart = told_apart(scene)
    for node, guess in enumerate(scene.guesses, 1):
        if scene.depths[node] > depth:
            continue
        row: Panel = {"w": scene.word(guess.token), "at": scene.depths[node]}
        if node in apart:
            row["after"] = apart[node]
        if node in scene.q:
            row["q"] = round(scene.q[node], 6)
        if scored is not None:
            told = seen(scene, scored, node)
            row |= {name: told[name] for name in ("p", "soft") if name in told}
        rows.append(row)
    return {"kind": "guesses", "scored": scored is not None, "greedy": scene.greedy, "rows": rows}


def told_apart(scene: Scene) -> dict[int, Word]:
    """By node, of guesses with the same word at the same place: the words before it, back to where
    they differ."""
    alike: dict[tuple[int, int], list[int]] = {}
    for node, guess in enumerate(scene.guesses, 1):
        alike.setdefault((scene.depths[node], guess.token), []).append(node)
    found: dict[int, Word] = {}
    for nodes in alike.values():
        paths = {node: [scene.guesses[n - 1].token for n in path_to(scene, node)] for node in nodes}
        ways = {tuple(path) for path in paths.values()}
        back = next(b for b in count(2) if len({way[-b:] for way in ways}) == len(ways))
        for node in nodes if len(ways) > 1 else []:
            words = [scene.word(token) for token in paths[node][-back:-1]]
            found[node] = [piece for each in words for piece in each]
    return found


def _shortened(panel: Panel, step: Step) -> Panel:
    """The list cut to make room: the newest guesses while they come, then the first; and of how
    many they are."""
    rows = panel["rows"]
    if len(rows) <= BESIDE_EVIDENCE:
        return panel
    shown = rows[-BESIDE_EVIDENCE:] if step.kind == "propose" else rows[:BESIDE_EVIDENCE]
    return panel | {"rows": shown, "shown": len(shown), "of": len(rows)}


def _next_tokens(scene: Scene, step: Step) -> list[Panel]:
    """Where nothing was drafted: the target's likeliest next tokens, once its pass is done."""
    hidden = step.kind != "score" or scene.greedy  # at temperature 0 it would be the draw itself
    if hidden or not scene.round.scored or not scene.round.scored.top:
        return []
    pairs = scene.round.scored.top[0]
    return [{"w": scene.word(int(token)), "p": round(p, 6)} for token, p in pairs]


def _trial(scene: Scene, judged: Judged) -> Panel:
    """The token on trial: p over q, and the coin on the bar of its chance. No q where its verdict
    has none."""
    guess = scene.guesses[judged.node - 1]
    panel: Panel = {
        "kind": "trial",
        "w": scene.word(guess.token),
        "at": scene.depths[judged.node],
        "tries": len(scene.fallen(judged)) + 1,
        "accepted": judged.accepted,
        "p": round(judged.inputs["p"], 6),
        "laws": laws(scene, judged),
    }
    if "q" in judged.inputs:
        panel["q"] = round(judged.inputs["q"], 6)
    if scene.greedy:
        soft = soft_of(judged, guess.token)
        panel["text"] = {"p": str(int(judged.inputs["p"]))}
        if scene.leaf_first:
            panel["because"] = because(scene, judged)
        return panel | ({} if soft is None else {"soft": round(soft, 6)})
    panel["coin"] = {"u": round(judged.u, 6), "threshold": round(judged.threshold, 6)}
    if scene.leaf_first:
        return panel | bars(scene, judged)
    return panel | {"text": dict(numbers(scene, judged).text)}


def laws(scene: Scene, judged: Judged) -> dict[str, Any]:
    """What the bars are called, and which of them are what earlier tries left.

    none: in q's place where the verdict has none, why.
    """
    left_p, left_q = scene.left_of_p(judged), scene.left_of_q(judged)
    left = [name for name, is_left in (("p", left_p), ("q", left_q)) if is_left]
    found = {"p": "left of p" if left_p else "target p", "left": left}
    if scene.leaf_first and judged.rows.share < 1.0:
        found["p"] = "reach×p′" if left_p else "reach×p"  # the column is narrow
    if "q" not in judged.inputs:
        fixed = "none: fixed before any coin" if thrown(scene) else "none: not drawn by chance"
        return found | {"none": fixed if scene.point_mass else "not used by this rule"}
    return found | {"q": "left of q" if left_q else "draft q"}


def soft_of(judged: Judged, token: int) -> float | None:
    """The target's softmax at temperature 1 for a token; None where the trace has not kept it."""
    rows = judged.rows
    if rows.soft is None or token not in rows.tokens:
        return None
    return rows.soft[rows.tokens.index(token)]


def _draw(scene: Scene, drew: Drew) -> Panel:
    """After the last verdict: the table with the recovered token's row, or p with the bonus."""
    strip: Panel = {} if scene.greedy else {"draw": drawn(scene, drew)}
    if drew.kind == "recovered":
        panel = _trial(scene, scene.round.judged[-1])
        panel |= {"table": table(scene, scene.last_fallen, drew)}
        return panel | strip | {"drawn": scene.word(drew.token)}
    return {"kind": "law", "w": scene.word(drew.token), "rows": _law(scene, drew)} | strip


def _law(scene: Scene, drew: Drew) -> list[Panel]:
    """The law that the last token was drawn from, by falling probability, the rest in one row."""
    soft: list[float | None] = [*drew.soft] if drew.soft else [None] * len(drew.tokens)
    rows: list[Panel] = []
    for token, p, s in zip(drew.tokens, drew.p, soft, strict=True):
        row: Panel = {"w": scene.word(token), "p": round(p, 6)}
        if token == drew.token:
            row["hit"] = True
        rows.append(row if s is None else row | {"soft": round(s, 6)})
    if drew.rest_tokens and drew.soft is None:
        rows.append({"rest": drew.rest_tokens, "p": round(drew.rest_p, 6)})
    return rows


def _round(scene: Scene) -> Panel:
    """What the round came to: guesses, kept ones, and where its time went."""
    round = scene.round
    accepted = len(accepted_path(round))
    facts: list[tuple[str, str]] = []
    if round.proposed:
        facts.append(("Drafted", str(len(scene.guesses))))
        coins = "Coins that fell" if scene.leaf_first else "Judged"
        facts.append((coins, str(len(round.judged))))
        facts.append(("Kept", str(accepted)))
    if round.committed:
        facts.append(("Tokens for one target pass", str(len(round.committed.tokens))))
    if round.proposed:
        facts.append(("Drafting took", seconds(round.proposed.seconds)))
    if round.scored:
        facts.append(("The target pass took", seconds(round.scored.seconds)))
    if round.committed:
        rest = round.committed.judge_seconds + round.committed.commit_seconds
        facts.append(("Judging and keeping the caches took", seconds(rest)))
    return {"kind": "round", "number": round.number, "facts": [list(fact) for fact in facts]}
