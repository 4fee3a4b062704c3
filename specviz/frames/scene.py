"""One round of a run, and the steps a reader takes through it. A cursor is (round, step)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Literal, NamedTuple

from specviz.frames.words import Word, special, word
from specviz.settings.chance import JUDGE, u_key
from specviz.trace.depths import node_depths
from specviz.trace.events import Guess, Header, Judged, Round
from specviz.trace.file import Trace
from specviz.trace.rule_specs import RULE_SPECS, AfterRejection

StepKind = Literal["propose", "score", "judge", "draw", "commit"]


class Cursor(NamedTuple):
    """A place in a trace: which round, by index, and which of its steps."""

    round: int
    step: int


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens in a round. at: depth for propose, index into `judged` for judge."""

    kind: StepKind
    at: int = 0


@dataclass(frozen=True)
class Scene:
    """A round with what is needed to read it: the header, the bytes of its tokens, and the rounds
    before it (where they are left out, the text up to here is not known). who: what people call the
    drafter.
    """

    header: Header
    vocabulary: Mapping[int, bytes]
    round: Round
    earlier: Sequence[Round] = ()
    who: str = "The drafter"
    _words: dict[int, Word] = field(default_factory=dict)

    @classmethod
    def of(cls, trace: Trace, index: int) -> Scene:
        """The scene of the round at `index` in a trace."""
        rounds = trace.rounds
        return cls(trace.header, trace.vocabulary, rounds[index], rounds[:index])

    def word(self, token: int) -> Word:
        """A token as pieces to show; its number where the trace has not told its bytes."""
        if token not in self._words:
            known = self.vocabulary.get(token)
            way = special if token in self._special else word
            self._words[token] = [{"c": f"#{token}"}] if known is None else way(known)
        return self._words[token]

    @cached_property
    def _special(self) -> set[int]:
        return self.header.special_tokens

    @cached_property
    def text(self) -> list[int]:
        """The prompt's tokens and those of the rounds before; empty where these are not known."""
        whole = [round.number for round in self.earlier] == list(range(self.round.number))
        if not whole or not all(round.committed for round in self.earlier):
            return []
        added = [round.committed.tokens for round in self.earlier if round.committed]
        return [*self.header.prompt_ids, *chain.from_iterable(added)]

    @property
    def room(self) -> int | None:
        """How many tokens the round may add; None where the text or the limit is not known."""
        most: int | None = self.header.settings.get("max_new_tokens")
        if not self.text or most is None:
            return None
        return most - len(self.text) + len(self.header.prompt_ids)

    def spoken(self, place: int) -> Word | None:
        """The word at a place in the text; None where there is none, or the text is not known."""
        return self.word(self.text[place]) if 0 <= place < len(self.text) else None

    @cached_property
    def prompt_spans(self) -> list[tuple[int, int]]:
        """By token, the letters of what was read that it spells, [from, to), as a browser counts.

        Empty where the tokens do not spell the prompt; what stands before it (a sign that a text
        begins) spells none of it.
        """
        told = [self.vocabulary.get(token, b"") for token in self.header.prompt_ids]
        spelled, prompt = b"".join(told), self.header.model_text.encode("utf-8", "surrogatepass")
        if not prompt or not spelled.endswith(prompt):
            return []
        letters = _letters(self.header.model_text)
        ends = list(accumulate(map(len, told), initial=len(prompt) - len(spelled)))
        return [(letters[max(0, a)], letters[max(0, b)]) for a, b in pairwise(ends)]

    @property
    def guesses(self) -> list[Guess]:
        """What was drafted; the guess at node n is `guesses[n - 1]`."""
        return self.round.proposed.guesses if self.round.proposed else []

    @property
    def greedy(self) -> bool:
        """Whether the run is at temperature 0, where no coin decides anything."""
        return bool(self.header.settings.get("sampling", {}).get("temperature") == 0)

    def laid(self, node: int) -> bool:
        """Whether the coin of a guess was laid by hand instead of falling ("what if?")."""
        coins = self.header.settings.get("coins", {})
        return u_key(self.round.number, JUDGE, node) in coins

    @property
    def point_mass(self) -> bool:
        """Whether the guesses were fixed before any coin, so that they have no q."""
        return self.round.proposed is not None and self.round.proposed.drawn == "point-mass"

    @property
    def replaced(self) -> bool:
        """Whether each sibling was drawn from q without those before it."""
        drawn = self.round.proposed.drawn if self.round.proposed else None
        return drawn == "without-replacement"

    @cached_property
    def q(self) -> dict[int, float]:
        """By node, the guess's q under its parent's law as it is, before any sibling was taken out;
        so siblings' q sum to at most 1. Empty for a point mass.

        A sibling drawn without replacement has in the trace its share of what was left of q.
        """
        found: dict[int, float] = {}
        for siblings in self.children:
            left = 1.0
            for node in siblings:
                q = self.guesses[node - 1].q
                if q is not None:
                    found[node] = q * left
                    left = max(0.0, left - found[node]) if self.replaced else 1.0
        return found

    @cached_property
    def depths(self) -> list[int]:
        """Depth by node; the root, the last committed token, is node 0 at depth 0."""
        return node_depths([-1, *(guess.parent for guess in self.guesses)])

    @cached_property
    def children(self) -> list[list[int]]:
        """Children by node, in the order they are tried."""
        children: list[list[int]] = [[] for _ in self.depths]
        for node, guess in enumerate(self.guesses, 1):
            children[guess.parent].append(node)
        return children

    @cached_property
    def steps(self) -> list[Step]:
        """The steps of the round in order, as far as its events are known."""
        round = self.round
        steps: list[Step] = []
        if round.proposed:
            deepest = max(self.depths)
            steps += [Step("propose", depth) for depth in range(1, deepest + 1)] or [
                Step("propose")
            ]
        if round.scored:
            steps.append(Step("score"))
        steps += [Step("judge", index) for index in range(len(round.judged))]
        if round.drew:
            steps.append(Step("draw"))
        if round.committed:
            steps.append(Step("commit"))
        return steps

    @property
    def after_rejection(self) -> AfterRejection:
        """What the run's rule draws from where a guess fell; of an unknown rule, the residual."""
        promise = RULE_SPECS.get(self.header.rule)
        return promise.after_rejection if promise else AfterRejection.RESIDUAL

    @property
    def leaf_first(self) -> bool:
        """Whether the run's rule judges from the leaf up."""
        promise = RULE_SPECS.get(self.header.rule)
        return promise is not None and promise.leaf_first

    @property
    def last_fallen(self) -> Judged:
        """The verdict whose fall left the law of a recovered token: on the last guess before it."""
        after = self.children[self.round.drew.parent if self.round.drew else 0]
        return next(event for event in self.round.judged if event.node == after[-1])

    def left_of_p(self, judged: Judged) -> bool:
        """Whether a verdict's law is p′, what earlier tries at its place have left of p."""
        changed = not self.greedy and self.after_rejection is AfterRejection.RESIDUAL
        return changed and bool(self.fallen(judged))

    def left_of_q(self, judged: Judged) -> bool:
        """Whether its q is a share of q′, what is left of q without the siblings before it."""
        return self.left_of_p(judged) and self.replaced and "q" in judged.inputs

    def fallen(self, judged: Judged) -> list[Judged]:
        """Siblings of a judged node that were rejected before it."""
        parent = self.guesses[judged.node - 1].parent
        nodes = [each.node for each in self.round.judged]
        before = self.round.judged[: nodes.index(judged.node)]
        return [j for j in before if self.guesses[j.node - 1].parent == parent]


def _letters(text: str) -> list[int]:
    """By byte of a text in UTF-8, and at its end, how many UTF-16 units stand before it.

    A byte inside a letter counts as its beginning.
    """
    found, units = [], 0
    for letter in text:
        found += [units] * len(letter.encode("utf-8", "surrogatepass"))
        units += 2 if ord(letter) > 0xFFFF else 1
    return [*found, units]
