"""The header and the events of a run, one JSON object per line of a trace.

Events store inputs; acceptance, lengths, ratios and speed-ups are computed in `metrics.py`. p and q
belong to a parent node and describe its children. Standard library only: a trace can be played and
checked on a machine without a model.
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
    """A model as a trace describes it.

    Attributes:
        name: Its name.
        family: The kind of target or drafter, such as "eagle3".
        parameters: The number of its weights.
        bytes: The size of its weight files.
        hash: The SHA-256 of its weight files; None if it has none.
    """

    name: str
    family: str
    parameters: int
    bytes: int
    hash: str | None


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: everything that is fixed before the first round.

    Attributes:
        target: The target model.
        drafter: The drafter.
        settings: As `Settings.to_json` writes them.
        rule: The name of the verification rule.
        lossless: Whether the rule keeps the target's distribution.
        prompt: The prompt as typed; in a conversation, its last turn.
        prompt_ids: The token ids that the model read.
        vocab_size: The number of token ids.
        eos: The token ids that end a text.
        device: The device as torch names it.
        machine: A readable name of the device: a GPU's name or the number of CPU cores.
        dtype: The target's number format, as torch names it.
        threads: The number of CPU threads.
        versions: Versions of the libraries, by name.
        packing: How the target's matrix products were computed, see models/products.py; None in
            older traces.
        chat: The conversation that the prompt's tokens encode; None for raw text.
        weight_bytes: The bytes of weights that one plain pass reads; None if not measured.
        memory_speed: The bytes per second at which the machine read as much memory; None if not
            measured.
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
    weight_bytes: int | None = None
    memory_speed: float | None = None

    @property
    def model_text(self) -> str:
        """The text that the model read: the prompt, with everything around it in a conversation."""
        return self.prompt if self.chat is None else self.chat.text

    @property
    def special_tokens(self) -> set[int]:
        """The known special tokens: end-of-text tokens, and tokens of the chat template."""
        special = self.chat.special(self.prompt_ids) if self.chat else set[int]()
        return special.union(self.eos)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The bytes of token ids, written before their first use: id -> bytes as latin-1 text."""

    event: ClassVar[str] = "vocabulary"
    tokens: dict[str, str]


@dataclass(frozen=True, slots=True)
class Interval:
    """How a token was sampled: u is in [lo, hi).

    The interval is the token's part of the cumulative sum of probabilities, largest first.
    """

    u: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Rows:
    """The distributions p and q at one position, for a few tokens and summed over the rest.

    Attributes:
        tokens: The most probable tokens of p, of q and of the residual, and the judged token, in
            descending order of p.
        p: The target's probability of each listed token.
        q: The draft's probability of each listed token; None if candidates are a point mass.
        soft: The target's softmax at temperature 1; kept only at temperature 0.
        rest_tokens: How many tokens are not listed.
        rest_p: The total p of the tokens not listed.
        rest_q: Their total q.
        rest_both: Their Σ min(p, q), compared token by token.
        rest_residual: Their Σ max(p − q, 0).
        rest_soft: Their total softmax.
        overlap: Σ min(p, q) over the whole vocabulary; for a point mass, p of the candidate.
        residual: Σ max(p − q, 0) over the whole vocabulary, before scaling to 1.
        reach: For rules that judge from the leaf up, the share of p available at this position;
            rest_both, rest_residual, overlap and residual then compare reach · p with q. None for
            other rules, which means 1.
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
        """The available p of each listed token: p times `share`."""
        return self.p if self.reach is None else [self.reach * p for p in self.p]

    @property
    def share(self) -> float:
        """The share of p that is available: `reach`, or 1 if that is None."""
        return 1.0 if self.reach is None else self.reach


@dataclass(frozen=True, slots=True)
class Guess:
    """One node of the draft tree.

    Nodes are numbered from 1 in the order of the list; a parent comes before its children.

    Attributes:
        token: The token id.
        parent: The parent's node; 0 is the last committed token.
        u: The random number that judges the node, whether or not it is reached.
        q: The token's probability in the distribution it was sampled from; None for a point mass.
        drawn: How the token was sampled from q; None for a point mass.
        score: The drafter's confidence, which verification does not use.
        evidence: Data about how the drafter made this guess.
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
    """The drafter proposed guesses.

    Attributes:
        round: The round's number.
        root: The last committed token.
        drawn: How siblings were sampled.
        guesses: The nodes of the tree.
        remark: Data about the whole proposal.
        seconds: The time that drafting took.
        work: The rows that the drafter's own networks read; None if they were not counted.
        cut: "after-sampling" if a guess was sent or not because of its token; otherwise None.
    """

    event: ClassVar[str] = "proposed"
    round: int
    root: int
    drawn: Literal["sampled", "without-replacement", "point-mass"]
    guesses: list[Guess]
    remark: dict[str, Any] | None
    seconds: float
    work: Work | None = None
    cut: Literal["after-sampling"] | None = None

    @property
    def depths(self) -> list[int]:
        """The depth of each guess; children of the root have depth 1."""
        return node_depths([-1, *(guess.parent for guess in self.guesses)])[1:]


@dataclass(frozen=True, slots=True)
class Scored:
    """The target scored the tree in one pass.

    Attributes:
        round: The round's number.
        p: The probability of each guess after its parent.
        top: For each node (0 is the root) the three most probable next tokens as [token, p].
        rows_in_pass: How many tokens the pass computed, including extra rows of the drafter.
        seconds: The time that the pass took.
        soft: The softmax of each guess at temperature 1; kept only at temperature 0, where p is
            one-hot.
        excluded: For each node, how many tokens have a logit of minus infinity; None if no node has
            any, or if the settings exclude tokens anyway.
    """

    event: ClassVar[str] = "scored"
    round: int
    p: list[float]
    top: list[list[list[float]]]
    rows_in_pass: int
    seconds: float
    soft: list[float] | None
    excluded: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The guess at `node` was judged: it was accepted if u < threshold.

    Attributes:
        round: The round's number.
        node: The node of the guess.
        u: The random number.
        threshold: What u was compared with.
        inputs: The numbers that the threshold is computed from.
        rows: The distributions with which the guess was judged.
        alpha: At the first candidate of a position, the probability that one of its candidates is
            accepted, before any u is known: Σ min(p, q) for one sampled candidate, Σ p for a point
            mass, 1 − Π(1 − min(1, pᵢ/qᵢ)) given several sampled ones. None at later candidates.
        tries: [pᵢ, qᵢ] of each of several sampled candidates, after the rejections before it. None
            if there are not several, and in older traces, whose alpha was biased low.
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
        """Whether the guess was accepted."""
        return self.u < self.threshold


@dataclass(frozen=True, slots=True)
class Drew:
    """The token that ends a round was sampled.

    Attributes:
        round: The round's number.
        parent: The node after which it was sampled.
        token: The token id.
        kind: Recovered (after a rejection), bonus (after accepted guesses) or plain (no draft).
        drawn: How it was sampled.
        tokens: The listed tokens of its distribution, in descending order of probability.
        p: Their probabilities.
        soft: Their softmax at temperature 1; kept only at temperature 0.
        rest_p: The total probability of the tokens not listed.
        rest_tokens: How many tokens are not listed.
        at_p: The token's p in the last judged distribution; None if nothing was rejected.
        at_q: The token's q in that distribution; None if nothing was rejected or there is no q.
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
    """The round ended and added `tokens`.

    Attributes:
        round: The round's number.
        tokens: The added token ids.
        judge_seconds: The time that verification took.
        commit_seconds: The time that updating the caches took.
    """

    event: ClassVar[str] = "committed"
    round: int
    tokens: list[int]
    judge_seconds: float
    commit_seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """The speculative run ended.

    Attributes:
        reason: Why it ended.
        trace_seconds: The time that recording took, which no other time includes.
        held_bytes: The memory that drafter and session used at the end, without the target and its
            cache, see models/memory.py; None in older traces.
    """

    event: ClassVar[str] = "finished"
    reason: EndReason
    trace_seconds: float
    held_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """Plain decoding, measured after the run on the same machine with the same prompt and settings.

    Attributes:
        token_ids: The new tokens.
        seconds: The time of each pass; the first is the prefill.
        margins: At temperature 0, the top logit minus the second of each pass; otherwise None.
        tops: At temperature 0, the top logit of each pass (rounding errors grow with it);
            otherwise, and in older traces, None.
    """

    event: ClassVar[str] = "baseline"
    token_ids: list[int]
    seconds: list[float]
    margins: list[float] | None
    tops: list[float] | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event written by a later version, kept unchanged."""

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
    """The events of one round so far. Round 0 is the prefill."""

    number: int
    proposed: Proposed | None = None
    scored: Scored | None = None
    judged: list[Judged] = field(default_factory=list)
    drew: Drew | None = None
    committed: Committed | None = None
