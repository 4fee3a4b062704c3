"""A run as data: a header and events, one JSON object per line. Causes only; effects are derived.

`accepted`, lengths, ratios and speed-ups are computed from these (see metrics.py), in one place.
p and q belong to a parent and describe its children. Standard library only: a trace plays and
re-checks on a machine with no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from specviz.trace.chat import Chat
from specviz.trace.depths import node_depths
from specviz.trace.work import Work

FinalTokenKind = Literal["recovered", "bonus", "plain"]


EndReason = Literal["eos", "limit", "stopped"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What the trace remembers of a model. bytes: of its weight files; hash: SHA-256 of them."""

    name: str
    family: str
    parameters: int
    bytes: int
    hash: str | None


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: everything that was decided before the first round.

    prompt: as it was typed, in a conversation its last turn. device: as torch names it. machine:
    what that is in words, a GPU's name or so many CPU cores. packing: how the target's products
    were made, see models/products.py; None in older traces. chat: the conversation that the
    prompt's tokens are; None where they are the prompt's own text alone.
    """

    event: ClassVar[str] = "header"
    target: ModelCard
    drafter: ModelCard
    settings: dict[str, Any]
    rule: str
    lossless: bool
    prompt: str
    prompt_ids: list[int]
    vocab_size: int
    eos: list[int]
    device: str
    machine: str
    dtype: str
    threads: int
    versions: dict[str, str]
    packing: str | None = None
    chat: Chat | None = None

    @property
    def model_text(self) -> str:
        """The text that the model read: the prompt, in a conversation with all around it."""
        return self.prompt if self.chat is None else self.chat.text

    @property
    def special_tokens(self) -> set[int]:
        """The tokens that are known to be no text: those that end one, and the template's."""
        wrote = self.chat.special(self.prompt_ids) if self.chat else set[int]()
        return wrote.union(self.eos)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The bytes of token ids, each before its first use: id -> bytes written as latin-1 text."""

    event: ClassVar[str] = "vocabulary"
    tokens: dict[str, str]


@dataclass(frozen=True, slots=True)
class Interval:
    """A drawn token: u fell in [lo, hi) when the law was walked by falling probability, then id."""

    u: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Rows:
    """The laws p and q at one place, summed honestly.

    tokens: the union of the top few of p, of q and of the residual, and the token concerned, by
    falling p. q is None where candidates are a point mass: what is there instead is the candidate.
    soft: the target's softmax at temperature 1, kept where the temperature is 0. rest_*: what all
    tokens not listed hold together (rest_both = Σ min(p, q), compared one by one, then summed).
    overlap: Σ min(p, q) over the full vocabulary; for a point mass, p of the candidate.
    residual: Σ max(p − q, 0) over the full vocabulary, before scaling to 1.
    reach: where judging goes from the leaf up, the share of p that can be claimed here: rest_both,
    rest_residual, overlap and residual are then of reach · p and q. None elsewhere, which is 1.
    """

    tokens: list[int]
    p: list[float]
    q: list[float] | None
    soft: list[float] | None
    rest_tokens: int
    rest_p: float
    rest_q: float
    rest_both: float
    rest_residual: float
    rest_soft: float
    overlap: float
    residual: float
    reach: float | None = None

    @property
    def claimed(self) -> list[float]:
        """By listed token, what can be claimed of p: all of it, or its share."""
        return self.p if self.reach is None else [self.reach * p for p in self.p]

    @property
    def share(self) -> float:
        """What of p can be claimed: `reach`, or 1."""
        return 1.0 if self.reach is None else self.reach


@dataclass(frozen=True, slots=True)
class Guess:
    """One node of the draft tree, numbered from 1 in the order of the list; its parent is earlier.

    u: the coin that judges it, whether or not it is ever reached. drawn: how it was drawn from q,
    None for a point mass. q: its probability under the law it was drawn from, None for a point
    mass. score: the drafter's confidence, never used in a verdict. evidence: why this guess.
    """

    token: int
    parent: int
    u: float
    q: float | None
    drawn: Interval | None
    score: float | None
    evidence: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Proposed:
    """The drafter guessed. drawn: how siblings were drawn; remark: evidence about the whole try.

    work: rows that the drafter's own networks read for it; None where nobody counted.
    """

    event: ClassVar[str] = "proposed"
    round: int
    root: int
    drawn: Literal["sampled", "without-replacement", "point-mass"]
    guesses: list[Guess]
    remark: dict[str, Any] | None
    seconds: float
    work: Work | None = None

    @property
    def depths(self) -> list[int]:
        """By guess, how deep it stands; the first under the root at 1."""
        return node_depths([-1, *(guess.parent for guess in self.guesses)])[1:]


@dataclass(frozen=True, slots=True)
class Scored:
    """One target pass over the tree. p: by guess, its probability under its parent's law.

    top: by node (0 is the root), the three likeliest next tokens as [token, p].
    rows_in_pass: how many tokens the pass computed (riders included). soft: by guess, the softmax
    at temperature 1, kept where the temperature is 0: there p itself is already the verdict.
    """

    event: ClassVar[str] = "scored"
    round: int
    p: list[float]
    top: list[list[list[float]]]
    rows_in_pass: int
    seconds: float
    soft: list[float] | None


@dataclass(frozen=True, slots=True)
class Judged:
    """One coin fell: the guess at `node` was kept if u < threshold. rows: the law then in force.

    alpha: at the first candidate of a position, the chance that one of its candidates is kept,
    before any coin fell: Σ min(p, q) over the full vocabulary for a lone sampled one, Σ p for a
    point mass, 1 − Π(1 − min(1, pᵢ/qᵢ)) for several sampled ones, given them; None at later ones.
    tries: with alpha of several sampled ones, [pᵢ, qᵢ] of each in order under the laws that the
    rejections before it leave; None elsewhere, and in older traces, whose alpha was biased low.
    """

    event: ClassVar[str] = "judged"
    round: int
    node: int
    u: float
    threshold: float
    inputs: dict[str, float]
    rows: Rows
    alpha: float | None
    tries: list[list[float]] | None = None

    @property
    def accepted(self) -> bool:
        """Whether the coin fell on the side of keeping."""
        return self.u < self.threshold


@dataclass(frozen=True, slots=True)
class Drew:
    """The token that ends a round, from the law (tokens, p; `rest_p` for all others) at `parent`.

    at_p, at_q: the token's p and q in the last judged law, for the table under a rejection; None
    where nothing was rejected.
    """

    event: ClassVar[str] = "drew"
    round: int
    parent: int
    token: int
    kind: FinalTokenKind
    drawn: Interval
    tokens: list[int]
    p: list[float]
    soft: list[float] | None
    rest_p: float
    rest_tokens: int
    at_p: float | None
    at_q: float | None


@dataclass(frozen=True, slots=True)
class Committed:
    """The round is over: `tokens` were added. Seconds of judging, and of keeping the caches."""

    event: ClassVar[str] = "committed"
    round: int
    tokens: list[int]
    judge_seconds: float
    commit_seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """The speculative run is over. trace_seconds: what the recording itself cost, in none above.

    held_bytes: what drafter and session held in memory then, beyond the target and its cache, see
    models/memory.py; None in older traces.
    """

    event: ClassVar[str] = "finished"
    reason: EndReason
    trace_seconds: float
    held_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """Plain decoding, measured after the run: same machine, prompt and settings.

    seconds: by pass, the first is the prefill. margins: by pass, the target's top logit minus the
    second, and tops, that top logit, by which rounding grows; both kept at temperature 0 only.
    Older traces have no tops.
    """

    event: ClassVar[str] = "baseline"
    token_ids: list[int]
    seconds: list[float]
    margins: list[float] | None
    tops: list[float] | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event of a later version, kept whole."""

    raw: dict[str, Any]


Event = (
    Header
    | Vocabulary
    | Proposed
    | Scored
    | Judged
    | Drew
    | Committed
    | Finished
    | Baseline
    | Unknown
)


EVENT_TYPES: Mapping[str, type] = {
    cls.event: cls
    for cls in (Header, Vocabulary, Proposed, Scored, Judged, Drew, Committed, Finished, Baseline)
}


@dataclass(slots=True)
class Round:
    """The events of one round, as far as they are known. Round 0 is the prefill."""

    number: int
    proposed: Proposed | None = None
    scored: Scored | None = None
    judged: list[Judged] = field(default_factory=list)
    drew: Drew | None = None
    committed: Committed | None = None
