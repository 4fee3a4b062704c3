"""From live rounds to trace events: what crosses from the device, and how laws are summed.

One rule: what is not listed is summed token by token, then kept as one number per law. (The min of
two lumped masses is not the overlap.)
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from specviz.devices import describe
from specviz.distributions import without
from specviz.drafters.base import Drafter, Proposal
from specviz.settings import Settings
from specviz.target import Target
from specviz.trace import (
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
from specviz.verification import Decision, Drawn, Rule
from specviz.verification.keeping import keep_chance

if TYPE_CHECKING:
    from specviz.engine import Played

LISTED = 8  # tokens listed of each of p, q and the residual, at a decision
DRAWN_LISTED = 12  # tokens listed of the law that the last token is drawn from
ELSEWHERE = 3  # likeliest next tokens listed at every node


def header(
    target: Target,
    drafter: Drafter,
    prompt: str,
    ids: Sequence[int],
    settings: Settings,
    rule: Rule,
) -> Header:
    """What was decided before the first round."""
    packages = {name: version(name) for name in ("torch", "transformers")}
    return Header(
        target=target.card,
        drafter=drafter.card,
        settings=settings.to_json(),
        rule=rule.name,
        lossless=rule.lossless,
        prompt=prompt,
        prompt_ids=list(ids),
        vocab_size=target.vocab_size,
        eos=list(target.eos),
        device=str(target.device),
        machine=describe(target.device),
        dtype=str(target.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        versions={"python": platform.python_version(), **packages},
    )


class Recorder:
    """Turns rounds into events; remembers which tokens' bytes the trace has already."""

    def __init__(self, target: Target, settings: Settings) -> None:
        self.target = target
        self.settings = settings
        self.told: set[int] = set()

    def words(self, tokens: Iterable[int]) -> Iterator[Vocabulary]:
        """The bytes of those tokens that the trace has not shown yet."""
        new = sorted(set(tokens) - self.told)
        self.told.update(new)
        if new:
            yield Vocabulary({str(t): self.target.token_bytes(t).decode("latin-1") for t in new})

    @torch.inference_mode()
    def round(self, played: Played) -> list[Event]:
        """The events of one round, the bytes of every token they show first."""
        number, verdict = played.number, played.verdict
        events: list[Event] = []
        if number:
            events.append(self._proposed(played))
        events.append(self._scored(played))
        rows = self._rows(played)
        for decision, row in zip(verdict.decisions, rows, strict=True):
            events.append(
                Judged(
                    number,
                    decision.node,
                    decision.u,
                    decision.threshold,
                    dict(decision.inputs),
                    row,
                    alpha(played, decision),
                )
            )
        if len(played.tokens) > len(verdict.path):
            events.append(self._drew(played))
        clocks = played.clocks
        events.append(Committed(number, list(played.tokens), clocks.judge, clocks.commit))
        return [*self.words(shown(events)), *events]

    def _proposed(self, played: Played) -> Proposed:
        proposal, tree = played.proposal, played.proposal.tree
        guesses = [self._guess(played, node) for node in range(1, len(tree))]
        return Proposed(
            round=played.number,
            root=tree.tokens[0],
            drawn=proposal.drawn.value,
            guesses=guesses,
            remark=proposal.evidence.get(0),
            seconds=played.clocks.draft,
        )

    def _guess(self, played: Played, node: int) -> Guess:
        proposal: Proposal = played.proposal
        tree = proposal.tree
        made = proposal.draws.get(node)
        return Guess(
            token=tree.tokens[node],
            parent=tree.parents[node],
            u=played.chance.judge(node),
            q=None if made is None else drawn_with(proposal, node),
            drawn=None if made is None else Interval(made.u, made.lo, made.hi),
            score=proposal.score.get(node),
            evidence=proposal.evidence.get(node),
        )

    def _scored(self, played: Played) -> Scored:
        tree, p = played.proposal.tree, played.p
        parents = torch.tensor(tree.parents[1:], dtype=torch.long, device=p.device)
        tokens = torch.tensor(tree.tokens[1:], dtype=torch.long, device=p.device)
        values, ids = p.topk(min(ELSEWHERE, p.shape[-1]), dim=-1)
        pairs = zip(ids.tolist(), values.tolist(), strict=True)
        riders = played.proposal.riders
        soft = self._soft(played, tree.parents[1:])
        return Scored(
            round=played.number,
            p=p[parents, tokens].tolist(),
            top=[[[i, v] for i, v in zip(*pair, strict=True) if v > 0] for pair in pairs],
            rows_in_pass=len(tree) + (len(riders.tokens) if riders else 0),
            seconds=played.clocks.score,
            soft=None if soft is None else soft[range(len(tokens)), tokens].tolist(),
        )

    def _drew(self, played: Played) -> Drew:
        final = played.verdict.final
        law, drawn = final.law, final.drawn
        soft = self._soft(played, [final.parent])
        tokens = likeliest(law, drawn.token)
        index = torch.tensor(tokens, device=law.device)
        last = played.verdict.decisions[-1] if final.kind == "recovered" else None
        return Drew(
            round=played.number,
            parent=final.parent,
            token=drawn.token,
            kind=final.kind,
            drawn=Interval(drawn.u, drawn.lo, drawn.hi),
            tokens=tokens,
            p=law[index].tolist(),
            soft=None if soft is None else soft[0, index].tolist(),
            rest_p=law.index_fill(0, index, 0.0).sum().item(),
            rest_tokens=law.shape[-1] - len(tokens),
            at_p=None if last is None else last.law.p[drawn.token].item(),
            at_q=None if last is None or last.law.q is None else last.law.q[drawn.token].item(),
        )

    def _rows(self, played: Played) -> list[Rows]:
        """The laws at every decision, batched: one transfer for all."""
        decisions = played.verdict.decisions
        if not decisions:
            return []
        tree = played.proposal.tree
        judged = torch.tensor([tree.tokens[d.node] for d in decisions], device=played.p.device)
        laws = [d.law.p for d in decisions], [_draft_law(d, tree.tokens) for d in decisions]
        p, q = torch.stack(laws[0]), torch.stack(laws[1])
        soft = self._soft(played, [tree.parents[d.node] for d in decisions])
        batch = summed(p, q, soft, judged)
        has_q = [d.law.q is not None for d in decisions]
        return [_row(batch, i, known) for i, known in enumerate(has_q)]

    def _soft(self, played: Played, nodes: Sequence[int]) -> Tensor | None:
        """At temperature 0, the softmax at temperature 1 after these nodes: (r, V)."""
        if not self.settings.sampling.greedy:
            return None
        return played.scores.logits[list(nodes)].to(played.p.dtype).softmax(-1)


def drawn_with(proposal: Proposal, node: int) -> float:
    """q of a sampled guess under the law it was drawn from: siblings before it may be masked."""
    tree = proposal.tree
    parent = tree.parents[node]
    q = proposal.q[parent]
    if proposal.drawn is Drawn.WITHOUT_REPLACEMENT:
        for sibling in tree.children[parent][: tree.children[parent].index(node)]:
            q = without(q, tree.tokens[sibling])
    return q[tree.tokens[node]].item()


def alpha(played: Played, decision: Decision) -> float | None:
    """The chance that a position keeps one of its candidates; told at the first candidate only."""
    tree = played.proposal.tree
    siblings = tree.children[tree.parents[decision.node]]
    if decision.node != siblings[0]:
        return None
    return keep_chance(decision.law, [tree.tokens[n] for n in siblings], played.proposal.drawn)


def _draft_law(decision: Decision, tokens: Sequence[int]) -> Tensor:
    """q of a decision; for a point mass all mass sits on the candidate."""
    if decision.law.q is not None:
        return decision.law.q
    mass = torch.zeros_like(decision.law.p)
    mass[tokens[decision.node]] = 1.0
    return mass


def likeliest(law: Tensor, token: int) -> list[int]:
    """The top of a law (V,), by falling probability then id, and `token` among them."""
    values, ids = law.topk(min(DRAWN_LISTED, law.shape[-1]))
    pairs = zip((-values).tolist(), ids.tolist(), strict=True)
    found = {(value, i) for value, i in pairs if value < 0}
    found.add((-law[token].item(), token))
    return [i for _, i in sorted(found)]


def summed(p: Tensor, q: Tensor, soft: Tensor | None, judged: Tensor) -> dict[str, Any]:
    """Laws (d, V) as listed tokens and rests. judged: (d,), tokens that must be listed."""
    both, above = torch.minimum(p, q), (p - q).clamp(min=0.0)
    laws = [p, q, above] if soft is None else [p, q, soft]
    few = min(LISTED, p.shape[-1])
    ids = torch.cat([judged[:, None], *(law.topk(few, dim=-1).indices for law in laws)], dim=1)
    kinds = {"p": p, "q": q, "both": both, "above": above}
    if soft is not None:
        kinds["soft"] = soft
    batch: dict[str, Any] = {"ids": ids.tolist(), "size": p.shape[-1]}
    for name, law in kinds.items():
        batch[name] = law.gather(1, ids).tolist()
        batch["rest_" + name] = law.scatter(1, ids, 0.0).sum(-1).tolist()
        batch["all_" + name] = law.sum(-1).tolist()
    return batch


def _row(batch: dict[str, Any], i: int, has_q: bool) -> Rows:
    """One decision of the batch: each listed token once, by falling p, then q, then id."""
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
        overlap=batch["all_both"][i],
        residual=batch["all_above"][i],
    )


def shown(events: Iterable[Event]) -> set[int]:
    """Every token id that these events show."""
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
