"""How many rows a drafter of each family pushed through its own weights, from the trace alone.

Rule: a family is here only where its rows follow exactly from what its rounds proposed and kept;
of others nothing is said. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specviz.settings.settings import Settings
from specviz.trace.events import Guess
from specviz.trace.file import Trace


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows through a model. body: all. head: those whose logits were wanted. entry: those made of
    the target's states on the way in."""

    body: int
    head: int
    entry: int = 0

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.body + other.body, self.head + other.head, self.entry + other.entry)


@dataclass(frozen=True, slots=True)
class Draft:
    """One round that drafted. length: of the text before it. new: of these, not there at the draft
    before, or all but the first. depth: how deep it was asked to go. tokens: what the round added.
    """

    guesses: list[Guess]
    remark: Mapping[str, Any]
    length: int
    new: int
    depth: int
    tokens: list[int]


def drafts(trace: Trace) -> Iterator[Draft]:
    """The rounds that drafted, in order; the first has the prompt before it."""
    settings = Settings.from_json(trace.header.settings)
    from specviz.engine.schedule import schedule  # the engine brings torch in

    gamma, length, seen = schedule(settings), len(trace.header.prompt_ids), 1
    goal = length + settings.max_new_tokens
    for played in trace.rounds:
        tokens = played.committed.tokens if played.committed else []
        proposed = played.proposed
        if proposed and proposed.guesses and tokens:
            asked = min(gamma.gamma, goal - length - 1)
            remark = proposed.remark or {}
            yield Draft(proposed.guesses, remark, length, length - seen, asked, tokens)
            seen, deep = length, max(depths(proposed.guesses))
            gamma.observe(deep, min(len(tokens) - 1, deep))
        length += len(tokens)


def depths(guesses: list[Guess]) -> list[int]:
    """By guess, how deep it stands; the first under the root at 1."""
    found = [0]
    for guess in guesses:
        found.append(found[guess.parent] + 1)
    return found[1:]


def nothing(_: Trace) -> Rows:
    """A drafter that looks things up, or rides in the target's own pass."""
    return Rows(0, 0)


def small_model(trace: Trace) -> Rows:
    """A causal LM of its own: what its cache lacks of the text, then every level but the deepest.

    As `levels.LevelReader` has it: guesses that it read and that the text took are in the cache.
    """
    rows, known, taken = Rows(0, 0), 0, 0
    for draft in drafts(trace):
        inner = _inner(draft.guesses)
        rows += Rows(draft.length - known - taken + len(inner), 1 + len(inner))
        known = draft.length
        taken = len(_followed(draft.guesses, draft.tokens[:-1], inner))
    return rows


def early_exit(trace: Trace) -> Rows:
    """The target's own first layers: each runs once on a row, so only the output head is extra."""
    return Rows(0, sum(1 + len(_inner(draft.guesses)) for draft in drafts(trace)))


def static_tree(trace: Trace) -> Rows:
    """A head that reads states: what is new of the text, then every guess with guesses under it."""
    rows = Rows(0, 0)
    for draft in drafts(trace):
        parents = len({guess.parent for guess in draft.guesses} - {0})
        rows += Rows(draft.new + parents, 1 + parents, draft.new)
    return rows


def dynamic_tree(trace: Trace) -> Rows:
    """The same, where guesses that were expanded may not be in the tree that was checked.

    Every expanded node got `fan_out` guesses, and the remark says how many were weighed.
    """
    rows, fan_out = Rows(0, 0), trace.header.settings["fan_out"]
    for draft in drafts(trace):
        size = draft.remark.get("draft_vocabulary", trace.header.vocab_size)
        expanded = draft.remark["weighed"] // min(fan_out, size)
        rows += Rows(draft.new + expanded - 1, expanded, draft.new)
    return rows


def memory_tree(trace: Trace) -> Rows:
    """Mixture of Attentions: what is new of the text is put into the memory (entry) and read by
    self-attention (body), where the first token, which has no state, is read too. Only rows whose
    logits are wanted ask the memory (head). Then as `dynamic_tree`, which weighs all tokens.
    """
    rows, first, fan_out = Rows(0, 0), 1, trace.header.settings["fan_out"]
    for draft in drafts(trace):
        expanded = draft.remark["weighed"] // min(fan_out, trace.header.vocab_size)
        rows += Rows(first + draft.new + expanded - 1, expanded, draft.new)
        first = 0
    return rows


def block(trace: Trace) -> Rows:
    """DFlash's block, filled whole however few guesses are asked for; all but its newest token's
    place give logits. On the way in, what is new of the text.
    """
    rows = Rows(0, 0)
    for draft in drafts(trace):
        size = draft.remark["block"]
        rows += Rows(size, size - 1, draft.new)
    return rows


def side_by_side(trace: Trace) -> Rows:
    """Medusa's heads on one state: a row for every depth that was asked for."""
    many = sum(min(draft.depth, draft.remark["heads"]) for draft in drafts(trace))
    return Rows(many, many)


def shared_hidden(trace: Trace) -> Rows:
    """Blockwise heads on one state, whose hidden layers are one: a row, and logits by depth."""
    found = [min(draft.depth, draft.remark["block"] - 1) for draft in drafts(trace)]
    return Rows(len(found), sum(found))


def leaping(trace: Trace) -> Rows:
    """L-MTP's heads: each that is needed reads as many states as a leap is long."""
    rows = 0
    for draft in drafts(trace):
        leap = draft.remark["leap"]
        depth = min(draft.depth, leap * draft.remark["heads"])
        rows += leap * -(-depth // leap)
    return Rows(rows, rows)


def side_by_side_layers(trace: Trace) -> Rows:
    """Parallel layers, all of which read what is new of the text; logits by depth."""
    found = list(drafts(trace))
    logits = sum(min(draft.depth, draft.remark["heads"]) for draft in found)
    return Rows(sum(draft.new for draft in found), logits)


def modules(trace: Trace) -> Rows:
    """MTP's modules, one a step: rows that not all have read yet; the last one again, row by row.

    Rows count through one module.
    """
    rows, known = Rows(0, 0), 0
    for draft in drafts(trace):
        many, steps, newest = draft.remark["modules"], len(draft.guesses), draft.length - 1
        rows += Rows(min(steps, many) * (newest - known) + max(0, steps - many), steps)
        known = max(known, newest - many + 1) if steps >= many else known
    return rows


READERS: Final[Mapping[str, Callable[[Trace], Rows]]] = {  # by family of the drafter
    "ngram": nothing,
    "suffix": nothing,
    "lookahead": nothing,
    "uniform": nothing,
    "draft-model": small_model,
    "oracle": small_model,
    "layerskip": early_exit,
    "eagle": static_tree,
    "eagle2": dynamic_tree,
    "eagle3": dynamic_tree,
    "moa": memory_tree,
    "dflash": block,
    "medusa": side_by_side,
    "blockwise": shared_hidden,
    "lmtp": leaping,
    "mtp-parallel": side_by_side_layers,
    "mtp": modules,
}


def _inner(guesses: list[Guess]) -> set[int]:
    """Nodes above the deepest level: those that a reader of whole levels read."""
    deep = depths(guesses)
    return {node for node, depth in enumerate(deep, 1) if depth < max(deep)}


def _followed(guesses: list[Guess], tokens: list[int], read: set[int]) -> list[int]:
    """The read nodes that `tokens` lead through from the root."""
    path = [0]
    for token in tokens:
        under = (n for n, g in enumerate(guesses, 1) if g.parent == path[-1] and g.token == token)
        node = next(under, None)
        if node is None or node not in read:
            break
        path.append(node)
    return path[1:]
