"""The panel beside the tree: the guesses, the guess being judged, a sampled token, or totals."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Final, Literal, NotRequired, TypedDict

from specviz.frames.draw import Draw, draw_strip, pending_strip
from specviz.frames.evidence import evidence_section, is_random_pick
from specviz.frames.evidence.forms import Why, path_to
from specviz.frames.leaf_first import BarLabels, bars, because, explaining_verdict
from specviz.frames.numbers import format_nonzero, format_seconds, format_verdict
from specviz.frames.scene import Scene, Step, Word
from specviz.frames.table import Table, table
from specviz.frames.tree import open_slot, scores_of
from specviz.frames.whatif import WhatIf, outcomes
from specviz.texts import Part
from specviz.trace.events import Drew, Judged
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import AfterRejection


class Row(TypedDict):
    """A guess, or a token of a distribution, with its probabilities.

    Attributes:
        at: The position of a guess.
        after: The tokens before a guess, if another one is the same token at the same position.
        rest: How many other tokens this row sums.
        soft: The target's probability at temperature 1.
        score: The drafter's confidence, for a guess that it did not sample.
        hit: Whether the token was sampled.
        t: The texts of the probabilities, by name.
    """

    w: NotRequired[Word]
    at: NotRequired[int]
    after: NotRequired[Word]
    rest: NotRequired[int]
    p: NotRequired[float]
    q: NotRequired[float]
    soft: NotRequired[float]
    score: NotRequired[float]
    hit: NotRequired[Literal[True]]
    t: NotRequired[dict[str, str]]


class GuessesPanel(TypedDict):
    """Guesses proposed so far. If the list is shortened, it has `shown` of `of` guesses."""

    kind: Literal["guesses"]
    scored: bool
    greedy: bool
    rows: list[Row]
    shown: NotRequired[int]
    of: NotRequired[int]
    why: NotRequired[Why]


class EmptyPanel(TypedDict):
    """A round without a draft: the target's most probable tokens."""

    kind: Literal["empty"]
    rows: list[Row]
    why: NotRequired[Why]


class Trial(TypedDict):
    """A guess being judged. tries: number of siblings judged so far, including this one."""

    kind: Literal["trial"]
    w: Word
    at: int
    tries: int
    labels: BarLabels
    q: NotRequired[float]
    soft: NotRequired[float]
    table: NotRequired[Table]


class AskedPanel(Trial):
    """A guess whose verdict is hidden; without p at temperature 0, where p is the verdict."""

    asked: Literal[True]
    p: NotRequired[float]
    text: NotRequired[dict[str, str]]


class Verdict(Trial):
    """A guess and its verdict.

    Attributes:
        because: The reason for the probability, for rules that judge from the leaf up.
        draw: The strip for sampling the last token, with the token if it was sampled.
    """

    accepted: bool
    p: float
    because: NotRequired[list[Part]]
    whatif: NotRequired[WhatIf]
    draw: NotRequired[Draw]


class GreedyPanel(Verdict):
    """A verdict at temperature 0, where u is not used."""

    text: dict[str, str]


class Coin(TypedDict):
    """The random number u of a verdict (the coin), and the probability that it is compared with."""

    u: float
    threshold: float


class TossedPanel(Verdict):
    """A verdict by comparison with u.

    text: the texts of p, q, threshold and u, and as "sum" the calculation of the threshold.
    """

    coin: Coin
    text: Mapping[str, str]


class DrawPanel(TypedDict):
    """A token that is sampled from p."""

    kind: Literal["draw"]
    w: Word
    rows: list[Row]
    draw: NotRequired[Draw]


class RoundPanel(TypedDict):
    """The round's totals. times: where the run's time went, only at the end of the run."""

    kind: Literal["round"]
    number: int
    facts: list[tuple[str, str]]
    times: NotRequired[list[Part]]


VerdictPanel = GreedyPanel | TossedPanel
TrialPanel = AskedPanel | VerdictPanel
Panel = GuessesPanel | EmptyPanel | TrialPanel | DrawPanel | RoundPanel

LISTED: Final = 12  # how many guesses, or tokens of a distribution, are listed
BESIDE_EVIDENCE: Final = 6  # how many guesses are listed if evidence is shown below them


def inspector(scene: Scene, step: Step) -> Panel:
    """Return the panel of a step; its `kind` says which panel it is."""
    match step.kind:
        case "propose" | "score":
            panel, reasons = _guesses(scene, step), evidence_section(scene, step)
            _shorten(panel, step, LISTED if reasons is None else BESIDE_EVIDENCE)
            if reasons is not None:
                panel["why"] = reasons
            return _texts_added(panel)
        case "judge":
            return _verdict(scene, step)
        case "draw":
            assert scene.round.drew is not None
            return _texts_added(_draw(scene, scene.round.drew))
        case "commit":
            return _round(scene)


def _texts_added(panel: Panel) -> Panel:
    """Add the texts of the probabilities to a panel's rows, if it has any."""
    if panel["kind"] in ("guesses", "empty", "draw"):
        for row in panel["rows"]:
            names = [name for name in ("p", "q", "soft", "score") if name in row]
            row["t"] = {name: format_nonzero(row[name]) for name in names}
    return panel


def _verdict(scene: Scene, step: Step) -> Panel:
    judged = scene.round.judged[step.at]
    source = explaining_verdict(scene, judged)
    if scene.greedy:
        return {**_greedy(scene, judged), "table": table(scene, source)}
    shown, whatif = table(scene, source), outcomes(scene, judged)
    panel: TossedPanel = {**_tossed(scene, judged), "table": shown, "whatif": whatif}
    from_residual = scene.after_rejection is AfterRejection.RESIDUAL
    draws_next = source is judged and not judged.accepted and from_residual
    if draws_next and open_slot(scene, step) is not None:
        panel["draw"] = pending_strip(scene, judged)
    return panel


def _guesses(scene: Scene, step: Step) -> GuessesPanel | EmptyPanel:
    # Before the target's pass, a guess that was not sampled shows the drafter's confidence.
    if not scene.guesses:
        return {"kind": "empty", "rows": _next_tokens(scene, step)}
    depth = max(scene.depths) if step.kind == "score" else step.at
    scored = scene.round.scored if step.kind == "score" else None
    rows: list[Row] = []
    before = distinguishing_words(scene)
    for node, guess in enumerate(scene.guesses, 1):
        if scene.depths[node] > depth:
            continue
        row: Row = {"w": scene.word(guess.token), "at": scene.depths[node]}
        if node in before:
            row["after"] = before[node]
        if node in scene.q:
            row["q"] = round(scene.q[node], 6)
        elif scored is None and guess.score is not None:
            row["score"] = round(guess.score, 6)
        if scored is not None:
            row = {**row, **scores_of(scored, node)}
        rows.append(row)
    return {"kind": "guesses", "scored": scored is not None, "greedy": scene.greedy, "rows": rows}


def distinguishing_words(scene: Scene) -> dict[int, Word]:
    """Return, by node, the words before it that tell guesses with one token and depth apart."""
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


def _shorten(panel: GuessesPanel | EmptyPanel, step: Step, most: int) -> None:
    # To the newest while drafting, to the first afterwards.
    rows = panel["rows"]
    if panel["kind"] == "guesses" and len(rows) > most:
        shown = rows[-most:] if step.kind == "propose" else rows[:most]
        panel |= {"rows": shown, "shown": len(shown), "of": len(rows)}


def _next_tokens(scene: Scene, step: Step) -> list[Row]:
    hidden = step.kind != "score" or scene.greedy  # at temperature 0, the first is the next token
    if hidden or not scene.round.scored or not scene.round.scored.top:
        return []
    pairs = scene.round.scored.top[0]
    rows: list[Row] = [{"w": scene.word(int(token)), "p": round(p, 6)} for token, p in pairs]
    if others := scene.header.vocab_size - len(pairs):
        rows.append({"rest": others, "p": round(max(0.0, 1 - sum(p for _, p in pairs)), 6)})
    return rows


def _verdict_panel(scene: Scene, judged: Judged) -> Verdict:
    guess = scene.guesses[judged.node - 1]
    panel: Verdict = {
        "kind": "trial",
        "w": scene.word(guess.token),
        "at": scene.depths[judged.node],
        "tries": len(scene.rejected_before(judged)) + 1,
        "accepted": judged.accepted,
        "p": round(judged.inputs["p"], 6),
        "labels": bar_labels(scene, judged),
    }
    if "q" in judged.inputs:
        panel["q"] = round(judged.inputs["q"], 6)
    return panel


def _greedy(scene: Scene, judged: Judged) -> GreedyPanel:
    text = {"p": str(int(judged.inputs["p"]))}
    panel: GreedyPanel = {**_verdict_panel(scene, judged), "text": text}
    if scene.leaf_first:
        panel["because"] = because(scene, judged)
    soft = softmax_of(judged, scene.guesses[judged.node - 1].token)
    if soft is not None:
        panel["soft"] = round(soft, 6)
    return panel


def _tossed(scene: Scene, judged: Judged) -> TossedPanel:
    panel: TossedPanel = {
        **_verdict_panel(scene, judged),
        "coin": {"u": round(judged.u, 6), "threshold": round(judged.threshold, 6)},
        "text": format_verdict(scene, judged).text,
    }
    if scene.leaf_first:
        return {**panel, **bars(scene, judged), "because": because(scene, judged)}
    return panel


def bar_labels(scene: Scene, judged: Judged) -> BarLabels:
    """Return the labels of the bars for p and q."""
    left_p, left_q = scene.uses_p_remainder(judged), scene.uses_q_remainder(judged)
    left = [name for name, is_left in (("p", left_p), ("q", left_q)) if is_left]
    found: BarLabels = {"p": "target p′" if left_p else "target p", "left": left}
    if scene.leaf_first and judged.rows.share < 1.0:
        found["p"] = "reach×p′" if left_p else "reach×p"  # the column is narrow
    if "q" not in judged.inputs:
        fixed = "none: chosen in advance" if is_random_pick(scene) else "none: not sampled"
        found["none"] = fixed if scene.point_mass else "not used by this rule"
    else:
        found["q"] = "drafter q′" if left_q else "drafter q"
    return found


def softmax_of(judged: Judged, token: int) -> float | None:
    """Return the target's softmax at temperature 1 for a token; None if it was not recorded."""
    rows = judged.rows
    if rows.soft is None or token not in rows.tokens:
        return None
    return rows.soft[rows.tokens.index(token)]


def _draw(scene: Scene, drew: Drew) -> Panel:
    if drew.kind == "recovered":
        judged, shown = scene.round.judged[-1], table(scene, scene.last_rejected, drew)
        if scene.greedy:
            return {**_greedy(scene, judged), "table": shown}
        return {**_tossed(scene, judged), "table": shown, "draw": draw_strip(scene, drew)}
    rows = _distribution(scene, drew)
    panel: DrawPanel = {"kind": "draw", "w": scene.word(drew.token), "rows": rows}
    if not scene.greedy:
        panel["draw"] = draw_strip(scene, drew)
    return panel


def _distribution(scene: Scene, drew: Drew) -> list[Row]:
    soft: list[float | None] = [*drew.soft] if drew.soft else [None] * len(drew.tokens)
    rows: list[Row] = []
    others, rest = drew.rest_tokens, drew.rest_p
    for at, (token, p, s) in enumerate(zip(drew.tokens, drew.p, soft, strict=True)):
        if at >= LISTED and token != drew.token:
            others, rest = others + 1, rest + p
            continue
        row: Row = {"w": scene.word(token), "p": round(p, 6)}
        if token == drew.token:
            row["hit"] = True
        rows.append(row if s is None else row | {"soft": round(s, 6)})
    if others and drew.soft is None:
        rows.append({"rest": others, "p": round(rest, 6)})
    return rows


def _round(scene: Scene) -> Panel:
    round = scene.round
    accepted = len(accepted_path(round))
    facts: list[tuple[str, str]] = []
    if round.proposed:
        facts.append(("Drafted", str(len(scene.guesses))))
        judged = "Coins used" if scene.leaf_first else "Judged"
        facts.append((judged, str(len(round.judged))))
        facts.append(("Accepted", str(accepted)))
    if round.committed:
        facts.append(("Tokens from this pass", str(len(round.committed.tokens))))
    if round.proposed:
        facts.append(("Drafting time", format_seconds(round.proposed.seconds)))
    if round.scored:
        facts.append(("Target pass time", format_seconds(round.scored.seconds)))
    if round.committed:
        rest = round.committed.judge_seconds + round.committed.commit_seconds
        facts.append(("Judging and updating the caches", format_seconds(rest)))
    return {"kind": "round", "number": round.number, "facts": facts}
