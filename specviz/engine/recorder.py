"""Convert rounds to trace events, with only a few small transfers from the device.

A distribution over the vocabulary is stored as a few listed tokens and the sum over all others.
Each quantity is computed for every token before it is summed: the overlap of p and q is a sum of
minima, not the minimum of two sums.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from specviz.engine.loop import alpha
from specviz.engine.protocol import Drafter, Proposal
from specviz.models.prompt import EncodedPrompt
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.events import (
    Committed,
    Drew,
    Event,
    Guess,
    Header,
    Interval,
    Judged,
    Proposed,
    Rows,
    Scored,
    Vocabulary,
)
from specviz.trace.rule_specs import RULE_SPECS, Cut, parse_rule
from specviz.verification import Decision, Drawn, Rule
from specviz.verification.base import AcceptanceProbability
from specviz.verification.distributions import remove_token
from specviz.verification.tree import DraftTree

if TYPE_CHECKING:
    from specviz.engine.loop import RoundResult


LISTED = 8  # how many tokens of each distribution are listed at a decision
DRAWN_LISTED = 12  # how many tokens are listed for the last token's distribution


def decision_rows(
    decisions: Sequence[Decision], tree: DraftTree, soft: Tensor | None, leaf_first: bool = False
) -> list[Rows]:
    """Return the distributions at every decision, computed in one batch.

    Returns one entry per decision, in the same order.

    Args:
        decisions: The decisions of one round.
        tree: The draft tree.
        soft: The softmax at temperature 1 after each node, (n, V); None unless the run has
            temperature 0.
        leaf_first: Whether the rule judges from the leaf up and assigns each candidate a share of
            p, which is then included.
    """
    if not decisions:
        return []
    p = torch.stack([decision.distributions.p for decision in decisions])
    q = torch.stack([_draft_probs(decision, tree.tokens) for decision in decisions])
    judged = torch.tensor([tree.tokens[d.node] for d in decisions], device=p.device)
    has_q = decisions[0].distributions.q is not None
    at = None if soft is None else soft[[tree.parents[d.node] for d in decisions]]
    shares = torch.tensor(
        [[d.distributions.reach] for d in decisions], dtype=p.dtype, device=p.device
    )
    ids = torch.cat([judged[:, None], *_leaders(p, q, shares * p, at, has_q)], dim=1)
    batch = _summed(p, q, shares * p, at, ids)
    reach = [d.distributions.reach if leaf_first else None for d in decisions]
    return [_row(batch, i, has_q, reach[i]) for i in range(len(decisions))]


def _leaders(
    p: Tensor, q: Tensor, claimed: Tensor, soft: Tensor | None, has_q: bool
) -> list[Tensor]:
    # p, q, claimed (the share of p that is the candidate's), soft: (d, V); ids: (d, k).
    few = min(LISTED, p.shape[-1])
    if soft is not None:  # p is one-hot
        return [p.argmax(dim=-1, keepdim=True), soft.topk(few, dim=-1).indices]
    if has_q:
        return [each.topk(few, dim=-1).indices for each in (p, q, (claimed - q).clamp(min=0.0))]
    # The residual is p without the candidate, so one more token of p covers its largest values,
    # too.
    return [p.topk(min(2 * LISTED, p.shape[-1]), dim=-1).indices]


def _draft_probs(decision: Decision, tokens: Sequence[int]) -> Tensor:
    if decision.distributions.q is not None:
        return decision.distributions.q
    mass = torch.zeros_like(decision.distributions.p)
    mass[tokens[decision.node]] = 1.0
    return mass


def _summed(
    p: Tensor, q: Tensor, claimed: Tensor, soft: Tensor | None, ids: Tensor
) -> dict[str, Any]:
    # p, q, claimed, soft: (d, V); ids: (d, k). The sums are those over all other tokens.
    above = (claimed - q).clamp(min=0.0)
    quantities = {"p": p, "q": q, "both": torch.minimum(claimed, q), "above": above}
    if soft is not None:
        quantities["soft"] = soft
    stack = torch.stack(list(quantities.values()))
    where = ids.expand(len(quantities), *ids.shape)
    listed = stack.gather(-1, where).tolist()
    rest = stack.scatter(-1, where, 0.0).sum(-1).tolist()
    total = stack[2:4].sum(-1).tolist()
    batch: dict[str, Any] = {"ids": ids.tolist(), "size": p.shape[-1]}
    for i, name in enumerate(quantities):
        batch[name], batch["rest_" + name] = listed[i], rest[i]
    return batch | {"overlap": total[0], "residual": total[1]}


def _row(batch: dict[str, Any], i: int, has_q: bool, reach: float | None) -> Rows:
    # Each token once, sorted by p, then q, then id.
    p, q, soft = batch["p"][i], batch["q"][i], batch.get("soft")
    first = {token: at for at, token in reversed(list(enumerate(batch["ids"][i])))}
    key = p if soft is None else soft[i]
    order = sorted(first, key=lambda token: (-key[first[token]], -q[first[token]], token))
    at = [first[token] for token in order]
    return Rows(
        tokens=order,
        p=[p[k] for k in at],
        q=[q[k] for k in at] if has_q else None,
        soft=None if soft is None else [soft[i][k] for k in at],
        rest_tokens=batch["size"] - len(order),
        rest_p=batch["rest_p"][i],
        rest_q=batch["rest_q"][i],
        rest_both=batch["rest_both"][i],
        rest_residual=batch["rest_above"][i],
        rest_soft=0.0 if soft is None else batch["rest_soft"][i],
        overlap=batch["overlap"][i],
        residual=batch["residual"][i],
        reach=reach,
    )


def most_likely(probs: Tensor, token: int) -> list[int]:
    """Return the most likely tokens of (V,), and `token`, sorted by probability, then id."""
    values, ids = probs.topk(min(DRAWN_LISTED, probs.shape[-1]))
    pairs = zip((-values).tolist(), ids.tolist(), strict=True)
    found = {(value, i) for value, i in pairs if value < 0}
    found.add((-probs[token].item(), token))
    return [i for _, i in sorted(found)]


TOP = 3  # how many of the most likely next tokens are listed at every node
# For rules whose acceptance probability cannot be computed from the overlap.
NO_ALPHA = AcceptanceProbability(None, None)


def header(
    target: Target,
    drafter: Drafter,
    encoded: EncodedPrompt,
    settings: Settings,
    rule: Rule,
) -> Header:
    """Return the trace header: everything that is known before the first round."""
    where = target.environment
    return Header(
        target=target.card,
        drafter=drafter.card,
        settings=settings.at_depth(target.layers).to_json(),
        rule=rule.spec.name,
        lossless=rule.spec.lossless,
        prompt=encoded.text,
        prompt_ids=list(encoded.ids),
        vocab_size=target.vocab_size,
        eos=list(target.eos),
        device=str(target.device),
        machine=where.machine,
        dtype=where.dtype,
        threads=torch.get_num_threads(),
        versions={**versions(), **where.versions},
        packing=where.packing,
        chat=encoded.chat,
        weight_bytes=where.memory.weights if where.memory else None,
        memory_speed=where.memory.speed if where.memory else None,
    )


@cache
def versions() -> dict[str, str]:
    """Return the package versions that a run's numbers may depend on, cached."""
    packages = {name: version(name) for name in ("torch", "transformers")}
    return {"python": platform.python_version(), **packages}


class Recorder:
    """Converts rounds to events, and remembers which tokens' bytes the trace already contains."""

    def __init__(self, target: Target, settings: Settings) -> None:
        self.target = target
        self.settings = settings
        rule = RULE_SPECS.get(parse_rule(settings.rule)[0])
        self.has_alpha = rule is None or rule.has_alpha  # "auto" chooses rules with α only
        self.leaf_first = rule is not None and rule.leaf_first
        self.recorded: set[int] = set()

    def vocabulary(self, tokens: Iterable[int]) -> Iterator[Vocabulary]:
        """Yield an event with the bytes of the given tokens that the trace does not contain yet."""
        new = sorted(set(tokens) - self.recorded)
        self.recorded.update(new)
        if new:
            yield Vocabulary({str(t): self.target.token_bytes(t).decode("latin-1") for t in new})

    @torch.inference_mode()
    def round(self, result: RoundResult) -> list[Event]:
        """Return the events of one round, preceded by the bytes of every token in them."""
        number, verdict = result.number, result.verdict
        soft = self._soft(result)
        events: list[Event] = []
        if number:
            events.append(self._proposed(result))
        events.append(self._scored(result, soft))
        rows = decision_rows(verdict.decisions, result.proposal.tree, soft, self.leaf_first)
        for decision, row in zip(verdict.decisions, rows, strict=True):
            events.append(
                Judged(
                    number,
                    decision.node,
                    decision.u,
                    decision.threshold,
                    dict(decision.inputs),
                    row,
                    *(alpha(result, decision) if self.has_alpha else NO_ALPHA),
                )
            )
        if len(result.tokens) > len(verdict.path):
            events.append(self._drew(result, soft))
        clocks = result.clocks
        events.append(Committed(number, list(result.tokens), clocks.judge, clocks.commit))
        return [*self.vocabulary(shown_tokens(events).union(result.proposal.shown)), *events]

    def _proposed(self, result: RoundResult) -> Proposed:
        proposal, tree = result.proposal, result.proposal.tree
        guesses = [self._guess(result, node) for node in range(1, len(tree))]
        return Proposed(
            round=result.number,
            root=tree.tokens[0],
            drawn=proposal.drawn.value,
            guesses=guesses,
            remark=proposal.evidence.get(0),
            seconds=result.clocks.draft,
            work=proposal.work,
            cut="after-sampling" if proposal.cut is Cut.AFTER_SAMPLING else None,
        )

    def _guess(self, result: RoundResult, node: int) -> Guess:
        proposal: Proposal = result.proposal
        tree = proposal.tree
        made = proposal.draws.get(node)
        return Guess(
            token=tree.tokens[node],
            parent=tree.parents[node],
            u=result.chance.judge(node),
            q=None if made is None else conditional_q(proposal, node),
            drawn=None if made is None else Interval(made.u, made.lo, made.hi),
            score=proposal.score.get(node),
            evidence=proposal.evidence.get(node),
        )

    def _scored(self, result: RoundResult, soft: Tensor | None) -> Scored:
        tree, p = result.proposal.tree, result.p
        parents = torch.tensor(tree.parents[1:], dtype=torch.long, device=p.device)
        tokens = torch.tensor(tree.tokens[1:], dtype=torch.long, device=p.device)
        values, ids = p.topk(min(TOP, p.shape[-1]), dim=-1)
        pairs = zip(ids.tolist(), values.tolist(), strict=True)
        extra_rows = result.proposal.extra_rows
        return Scored(
            round=result.number,
            p=p[parents, tokens].tolist(),
            top=[[[i, v] for i, v in zip(*pair, strict=True) if v > 0] for pair in pairs],
            rows_in_pass=len(tree) + (len(extra_rows.tokens) if extra_rows else 0),
            seconds=result.clocks.score,
            soft=None if soft is None else soft[parents, tokens].tolist(),
            excluded=self._excluded(result),
        )

    def _excluded(self, result: RoundResult) -> list[int] | None:
        sampling = self.settings.sampling
        if sampling.greedy or sampling.cuts:
            return None
        counts: list[int] = result.scores.logits.isneginf().sum(-1).tolist()
        return counts if any(counts) else None

    def _drew(self, result: RoundResult, soft: Tensor | None) -> Drew:
        final = result.verdict.final
        probs, drawn = final.probs, final.drawn
        tokens = most_likely(probs, drawn.token)
        index = torch.tensor(tokens, device=probs.device)
        last = _last_rejected(result) if final.kind == "recovered" else None
        return Drew(
            round=result.number,
            parent=final.parent,
            token=drawn.token,
            kind=final.kind,
            drawn=Interval(drawn.u, drawn.lo, drawn.hi),
            tokens=tokens,
            p=probs[index].tolist(),
            soft=None if soft is None else soft[final.parent, index].tolist(),
            rest_p=probs.index_fill(0, index, 0.0).sum().item(),
            rest_tokens=probs.shape[-1] - len(tokens),
            at_p=None if last is None else last.distributions.p[drawn.token].item(),
            at_q=None
            if last is None or last.distributions.q is None
            else last.distributions.q[drawn.token].item(),
        )

    def _soft(self, result: RoundResult) -> Tensor | None:
        # (n, V), after every node
        if not self.settings.sampling.greedy:
            return None
        return result.scores.logits.to(result.p.dtype).softmax(-1)


def _last_rejected(result: RoundResult) -> Decision:
    node = result.proposal.tree.children[result.verdict.final.parent][-1]
    return next(decision for decision in result.verdict.decisions if decision.node == node)


def conditional_q(proposal: Proposal, node: int) -> float:
    """Return a candidate's probability under the distribution that it was sampled from."""
    tree = proposal.tree
    parent = tree.parents[node]
    q = proposal.q[parent]
    if proposal.drawn is Drawn.WITHOUT_REPLACEMENT:
        for sibling in tree.children[parent][: tree.children[parent].index(node)]:
            q = remove_token(q, tree.tokens[sibling])
    return q[tree.tokens[node]].item()


def shown_tokens(events: Iterable[Event]) -> set[int]:
    """Return every token id in these events but those only in `Proposal.shown`."""
    ids: set[int] = set()
    for event in events:
        if isinstance(event, Proposed):
            ids.update(guess.token for guess in event.guesses)
        elif isinstance(event, Scored):
            ids.update(int(pair[0]) for node in event.top for pair in node)
        elif isinstance(event, Judged):
            ids.update(event.rows.tokens)
        elif isinstance(event, Drew | Committed):
            ids.update(event.tokens)
    return ids
