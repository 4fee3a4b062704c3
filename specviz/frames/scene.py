"""One round of a run with everything needed to show it: its steps, and its tokens as words.

A word is a token split into pieces: text, visible white space, and bytes that are not text. The
page shows it as text, never as markup.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Final, Literal, NamedTuple, NotRequired, TypedDict

from specviz.settings.chance import JUDGE, u_key
from specviz.texts import GlyphName, Part, Piece, WordPart
from specviz.trace.depths import node_depths
from specviz.trace.events import Guess, Header, Judged, Round
from specviz.trace.file import Trace
from specviz.trace.rule_specs import RULE_SPECS, AfterRejection

Word = list[Piece]
# What happened to a token on screen; "slot" marks the position of a round's last token.
TokenState = Literal[
    "waiting", "accepted", "rejected", "unreached", "recovered", "bonus", "plain", "slot"
]
# Base of records with a state: "is" is a keyword of Python, so a class cannot have it as a field.
HasState = TypedDict("HasState", {"is": TokenState})
MayHaveState = TypedDict("MayHaveState", {"is": NotRequired[TokenState]})


GLYPHS: Final[Mapping[str, GlyphName]] = {
    " ": "space",
    "\n": "newline",
    "\t": "tab",
    "\r": "return",
}
FLAT: Final[Mapping[str, str]] = {"space": "␣", "newline": "↵", "tab": "⇥", "return": "↲"}


def word(data: bytes) -> Word:
    r"""Split a token's bytes into pieces.

    Pieces are text, {"g": name} for white space, and {"c": code} for everything else: b" cat" is
    [{"g": "space"}, "cat"], and b"caf\xc3" is ["caf", {"c": "0xC3"}].
    """
    pieces: Word = []
    for piece in _pieces(data):
        if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def special(data: bytes) -> Word:
    """Return a special token as one piece, its name."""
    return [{"s": data.decode("utf-8", "replace")}]


def _pieces(data: bytes) -> Iterator[Piece]:
    # With surrogateescape, each byte that is not valid UTF-8 becomes one code point.
    for char in data.decode("utf-8", "surrogateescape"):
        if char in GLYPHS:
            yield {"g": GLYPHS[char]}
        elif "\udc80" <= char <= "\udcff":
            yield {"c": f"0x{ord(char) - 0xDC00:02X}"}
        elif unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn"):
            # Invisible characters, and those that reverse the text direction, are shown by their
            # number.
            yield {"c": f"U+{ord(char):04X}"}
        else:
            yield char


def flat(pieces: Word) -> str:
    """Return a word as plain text, for screen readers and plotly: ␣cat, ↵, <0xE2>."""
    return "".join(_flat(piece) for piece in pieces)


def _flat(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    if "s" in piece:
        return piece["s"]
    return FLAT[piece["g"]] if "g" in piece else f"<{piece['c']}>"


StepKind = Literal["propose", "score", "judge", "draw", "commit"]


class Cursor(NamedTuple):
    """A position in a trace: the index of a round, and of a step in it."""

    round: int
    step: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a round, as it is shown. at: depth, or index into `Round.judged`."""

    kind: StepKind
    at: int = 0


@dataclass(frozen=True)
class Scene:
    """A round with everything needed to show it.

    Attributes:
        vocabulary: The bytes of all tokens in the trace.
        round: The round itself; its last events may not be known yet.
        earlier: The rounds before it; if they are missing, the text so far is unknown.
        drafter_title: The drafter's name for use in sentences.
    """

    header: Header
    vocabulary: Mapping[int, bytes]
    round: Round
    earlier: Sequence[Round] = ()
    drafter_title: str = "The drafter"
    guesser: str = "helper"
    _words: dict[int, Word] = field(default_factory=dict)

    @classmethod
    def of(cls, trace: Trace, index: int) -> Scene:
        """Build the scene of the round at `index` in a trace."""
        rounds = trace.rounds
        return cls(trace.header, trace.vocabulary, rounds[index], rounds[:index])

    def word(self, token: int) -> Word:
        """Split a token into pieces; show its number if the trace does not have its bytes."""
        if token not in self._words:
            data = self.vocabulary.get(token)
            split = special if token in self._special else word
            self._words[token] = [{"c": f"#{token}"}] if data is None else split(data)
        return self._words[token]

    def chip(self, node: int) -> WordPart:
        """Return a guess as a token chip inside a sentence."""
        return {"w": self.word(self.guesses[node - 1].token)}

    @cached_property
    def _special(self) -> set[int]:
        return self.header.special_tokens

    @cached_property
    def text(self) -> list[int]:
        """The tokens of the prompt and of earlier rounds; empty if these are not known."""
        whole = [round.number for round in self.earlier] == list(range(self.round.number))
        if not whole or not all(round.committed for round in self.earlier):
            return []
        added = [round.committed.tokens for round in self.earlier if round.committed]
        return [*self.header.prompt_ids, *chain.from_iterable(added)]

    @property
    def tokens_left(self) -> int | None:
        """How many tokens the round may add; None if the text or the limit is unknown."""
        most: int | None = self.header.settings.get("max_new_tokens")
        if not self.text or most is None:
            return None
        return most - len(self.text) + len(self.header.prompt_ids)

    def word_at(self, position: int) -> Word | None:
        """Return the token at a position of the text; None if the position or text is unknown."""
        return self.word(self.text[position]) if 0 <= position < len(self.text) else None

    @cached_property
    def prompt_spans(self) -> list[tuple[int, int]]:
        """The span [start, end) of each prompt token in the prompt, in UTF-16 code units.

        The list is empty if the tokens' bytes do not form the prompt. Special tokens before the
        prompt have empty spans.
        """
        spelling = [self.vocabulary.get(token, b"") for token in self.header.prompt_ids]
        spelled, prompt = (
            b"".join(spelling),
            self.header.model_text.encode("utf-8", "surrogatepass"),
        )
        if not prompt or not spelled.endswith(prompt):
            return []
        letters = _letters(self.header.model_text)
        ends = list(accumulate(map(len, spelling), initial=len(prompt) - len(spelled)))
        return [(letters[max(0, a)], letters[max(0, b)]) for a, b in pairwise(ends)]

    @property
    def guesses(self) -> list[Guess]:
        """The guesses; node n is `guesses[n - 1]`."""
        return self.round.proposed.guesses if self.round.proposed else []

    @property
    def greedy(self) -> bool:
        """Whether the run is at temperature 0, where u is not used."""
        return bool(self.header.settings.get("sampling", {}).get("temperature") == 0)

    def coin_is_set(self, node: int) -> bool:
        """Whether u of a guess (its coin) was set by hand in a "what if" run."""
        coins = self.header.settings.get("coins", {})
        return u_key(self.round.number, JUDGE, node) in coins

    @property
    def point_mass(self) -> bool:
        """Whether the guesses were not sampled, so that they have no q."""
        return self.round.proposed is not None and self.round.proposed.drawn == "point-mass"

    @property
    def without_replacement(self) -> bool:
        """Whether each sibling was sampled from q without the siblings before it."""
        drawn = self.round.proposed.drawn if self.round.proposed else None
        return drawn == "without-replacement"

    @cached_property
    def q(self) -> dict[int, float]:
        """Each node's q before siblings were removed, so that siblings' q sum to at most 1.

        The table is empty for a point mass. For siblings sampled without replacement, the trace has
        q after earlier siblings were removed and the rest was scaled to sum to 1, which is undone
        here.
        """
        found: dict[int, float] = {}
        for siblings in self.children:
            left = 1.0
            for node in siblings:
                q = self.guesses[node - 1].q
                if q is not None:
                    found[node] = q * left
                    left = max(0.0, left - found[node]) if self.without_replacement else 1.0
        return found

    @cached_property
    def depths(self) -> list[int]:
        """Depth of each node; node 0 is the root, the last committed token, at depth 0."""
        return node_depths([-1, *(guess.parent for guess in self.guesses)])

    @cached_property
    def children(self) -> list[list[int]]:
        """Children of each node, in the order in which the rule tests them."""
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
        """The distribution that is used after a rejection; the residual if the rule is unknown."""
        spec = RULE_SPECS.get(self.header.rule)
        return spec.after_rejection if spec else AfterRejection.RESIDUAL

    @property
    def leaf_first(self) -> bool:
        """Whether the run's rule judges from the leaf up."""
        spec = RULE_SPECS.get(self.header.rule)
        return spec is not None and spec.leaf_first

    @property
    def last_rejected(self) -> Judged:
        """The last rejection before a recovered token, which is sampled from its residual."""
        after = self.children[self.round.drew.parent if self.round.drew else 0]
        return next(event for event in self.round.judged if event.node == after[-1])

    def uses_p_remainder(self, judged: Judged) -> bool:
        """Return whether a verdict uses p′, what remains of p after rejected siblings."""
        changed = not self.greedy and self.after_rejection is AfterRejection.RESIDUAL
        return changed and bool(self.rejected_before(judged))

    def uses_q_remainder(self, judged: Judged) -> bool:
        """Return whether a verdict uses q′, what remains of q without earlier siblings."""
        return self.uses_p_remainder(judged) and self.without_replacement and "q" in judged.inputs

    def rejected_before(self, judged: Judged) -> list[Judged]:
        """Return the verdicts on siblings that were rejected before a node was judged."""
        parent = self.guesses[judged.node - 1].parent
        nodes = [each.node for each in self.round.judged]
        before = self.round.judged[: nodes.index(judged.node)]
        return [j for j in before if self.guesses[j.node - 1].parent == parent]

    def rejected_chips(self, judged: Judged) -> list[Part]:
        """Return the siblings that were rejected before a node, as token chips for a sentence."""
        return [self.chip(earlier.node) for earlier in self.rejected_before(judged)]


def _letters(text: str) -> list[int]:
    # For each UTF-8 byte, and the end: UTF-16 units before it, or before its character.
    found, units = [], 0
    for letter in text:
        found += [units] * len(letter.encode("utf-8", "surrogatepass"))
        units += 2 if ord(letter) > 0xFFFF else 1
    return [*found, units]
