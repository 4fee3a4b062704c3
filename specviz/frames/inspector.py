"""The panel beside the tree: all guesses, the guess being judged, a sampled token, or totals."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from specviz.frames.draw import draw_strip, pending_strip
from specviz.frames.evidence import evidence_section, is_random_pick
from specviz.frames.evidence.forms import path_to
from specviz.frames.leaf_first import bars, because, explaining_verdict
from specviz.frames.numbers import format_seconds, format_verdict
from specviz.frames.scene import Scene, Step, Word
from specviz.frames.table import table
from specviz.frames.tree import open_slot, scores_of
from specviz.frames.whatif import outcomes
from specviz.trace.events import Drew, Judged
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import AfterRejection

Panel = dict[str, Any]


BESIDE_EVIDENCE: Final = 6  # guesses in the list if the drafter's evidence is shown below it


def inspector(scene: Scene, step: Step) -> Panel:
    """Return the panel of a step; its `kind` says which panel it is."""
    match step.kind:
        case "propose" | "score":
            panel, reasons = _guesses(scene, step), evidence_section(scene, step)
            return panel if reasons is None else _shortened(panel, step) | {"why": reasons}
        case "judge":
            return _verdict(scene, step)
        case "draw":
            assert scene.round.drew is not None
            return _draw(scene, scene.round.drew)
        case "commit":
            return _round(scene)


def _verdict(scene: Scene, step: Step) -> Panel:
    """Return the panel of a verdict with its table, and the strip if a replacement follows."""
    judged = scene.round.judged[step.at]
    source = explaining_verdict(scene, judged)
    panel = _trial(scene, judged) | {"table": table(scene, source)}
    if scene.greedy:
        return panel
    panel["whatif"] = outcomes(scene, judged)
    from_residual = scene.after_rejection is AfterRejection.RESIDUAL
    draws_next = source is judged and not judged.accepted and from_residual
    if draws_next and open_slot(scene, step) is not None:
        panel["draw"] = pending_strip(scene, judged)
    return panel


def _guesses(scene: Scene, step: Step) -> Panel:
    """List every guess so far with its q, and with its p once the target has scored it."""
    if not scene.guesses:
        return {"kind": "empty", "rows": _next_tokens(scene, step)}
    depth = max(scene.depths) if step.kind == "score" else step.at
    scored = scene.round.scored if step.kind == "score" else None
    rows: list[Panel] = []
    before = distinguishing_words(scene)
    for node, guess in enumerate(scene.guesses, 1):
        if scene.depths[node] > depth:
            continue
        row: Panel = {"w": scene.word(guess.token), "at": scene.depths[node]}
        if node in before:
            row["after"] = before[node]
        if node in scene.q:
            row["q"] = round(scene.q[node], 6)
        if scored is not None:
            scores = scores_of(scene, scored, node)
            row |= {name: scores[name] for name in ("p", "soft") if name in scores}
        rows.append(row)
    return {"kind": "guesses", "scored": scored is not None, "greedy": scene.greedy, "rows": rows}


def distinguishing_words(scene: Scene) -> dict[int, Word]:
    """Return words that distinguish guesses of the same token at the same depth, by node.

    They are the tokens before the guess, as far back as the paths differ.
    """
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
    """Shorten the list of guesses: keep the newest while drafting, and the first afterwards."""
    rows = panel["rows"]
    if len(rows) <= BESIDE_EVIDENCE:
        return panel
    shown = rows[-BESIDE_EVIDENCE:] if step.kind == "propose" else rows[:BESIDE_EVIDENCE]
    return panel | {"rows": shown, "shown": len(shown), "of": len(rows)}


def _next_tokens(scene: Scene, step: Step) -> list[Panel]:
    """List the target's likeliest next tokens after its pass, for a round without a draft."""
    hidden = step.kind != "score" or scene.greedy  # at temperature 0 the first is the next token
    if hidden or not scene.round.scored or not scene.round.scored.top:
        return []
    pairs = scene.round.scored.top[0]
    return [{"w": scene.word(int(token)), "p": round(p, 6)} for token, p in pairs]


def _trial(scene: Scene, judged: Judged) -> Panel:
    """Return the panel of the guess being judged: p, q if there is one, and the coin."""
    guess = scene.guesses[judged.node - 1]
    panel: Panel = {
        "kind": "trial",
        "w": scene.word(guess.token),
        "at": scene.depths[judged.node],
        "tries": len(scene.rejected_before(judged)) + 1,
        "accepted": judged.accepted,
        "p": round(judged.inputs["p"], 6),
        "laws": bar_labels(scene, judged),
    }
    if "q" in judged.inputs:
        panel["q"] = round(judged.inputs["q"], 6)
    if scene.greedy:
        soft = softmax_of(judged, guess.token)
        panel["text"] = {"p": str(int(judged.inputs["p"]))}
        if scene.leaf_first:
            panel["because"] = because(scene, judged)
        return panel | ({} if soft is None else {"soft": round(soft, 6)})
    panel["coin"] = {"u": round(judged.u, 6), "threshold": round(judged.threshold, 6)}
    if scene.leaf_first:
        return panel | bars(scene, judged)
    return panel | {"text": dict(format_verdict(scene, judged).text)}


def bar_labels(scene: Scene, judged: Judged) -> dict[str, Any]:
    """Return the labels of the bars, and in `left` the bars that show a remainder.

    For a verdict without q, `none` has the reason instead of a label.
    """
    left_p, left_q = scene.uses_p_remainder(judged), scene.uses_q_remainder(judged)
    left = [name for name, is_left in (("p", left_p), ("q", left_q)) if is_left]
    found = {"p": "target p′" if left_p else "target p", "left": left}
    if scene.leaf_first and judged.rows.share < 1.0:
        found["p"] = "reach×p′" if left_p else "reach×p"  # the column is narrow
    if "q" not in judged.inputs:
        fixed = "none: chosen in advance" if is_random_pick(scene) else "none: not sampled"
        return found | {"none": fixed if scene.point_mass else "not used by this rule"}
    return found | {"q": "drafter q′" if left_q else "drafter q"}


def softmax_of(judged: Judged, token: int) -> float | None:
    """Return the target's softmax at temperature 1 for a token; None if it was not recorded."""
    rows = judged.rows
    if rows.soft is None or token not in rows.tokens:
        return None
    return rows.soft[rows.tokens.index(token)]


def _draw(scene: Scene, drew: Drew) -> Panel:
    """Return the panel of the sampled token: the table for a recovered one, else p."""
    strip: Panel = {} if scene.greedy else {"draw": draw_strip(scene, drew)}
    if drew.kind == "recovered":
        panel = _trial(scene, scene.round.judged[-1])
        panel |= {"table": table(scene, scene.last_rejected, drew)}
        return panel | strip | {"drawn": scene.word(drew.token)}
    return {"kind": "law", "w": scene.word(drew.token), "rows": _distribution(scene, drew)} | strip


def _distribution(scene: Scene, drew: Drew) -> list[Panel]:
    """List the distribution of the last token by falling probability, other tokens in one row."""
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
    """Return the round's totals: guesses, accepted guesses and times."""
    round = scene.round
    accepted = len(accepted_path(round))
    facts: list[tuple[str, str]] = []
    if round.proposed:
        facts.append(("Drafted", str(len(scene.guesses))))
        judged = "Coins used" if scene.leaf_first else "Judged"
        facts.append((judged, str(len(round.judged))))
        facts.append(("Accepted", str(accepted)))
    if round.committed:
        facts.append(("Tokens for one target pass", str(len(round.committed.tokens))))
    if round.proposed:
        facts.append(("Drafting time", format_seconds(round.proposed.seconds)))
    if round.scored:
        facts.append(("Target pass time", format_seconds(round.scored.seconds)))
    if round.committed:
        rest = round.committed.judge_seconds + round.committed.commit_seconds
        facts.append(("Judging and updating the caches", format_seconds(rest)))
    return {"kind": "round", "number": round.number, "facts": [list(fact) for fact in facts]}
