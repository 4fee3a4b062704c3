"""Drive sessions that draft from hidden states with states of a plain target pass."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from specviz.drafters.common.layers import causal
from specviz.drafters.common.mask_session import TOP_COUNT
from specviz.drafters.eagle import Eagle
from specviz.drafters.eagle.head import EagleConfig, EagleHead
from specviz.engine.loop import rounds
from specviz.models.passes import States
from specviz.settings.chance import Chance
from specviz.trace.check import CheckFailed, check
from specviz.verification import Drawn

TEXT = [3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 2, 4, 6, 8]
CHUNKS = [4, 1, 3, 1, 2]  # tokens per commit; the first commit is the prompt without its last token


def grid(*axes, every):
    """Return all combinations of values; only every n-th of them is in the default tier."""
    return [
        pytest.param(*case, marks=pytest.mark.nightly if at % every else ())
        for at, case in enumerate(product(*axes))
    ]


def deep_target():
    """Return a target with four layers, so that taps can differ."""
    return tiny.target(tiny.llama(num_hidden_layers=4))


def random_head(target):
    torch.manual_seed(5)
    return tiny.blurred(EagleHead(EagleConfig.like(target)).eval().requires_grad_(False), 0.06)


def drafter(target, family=Eagle):
    head = random_head(target)
    return family(head, tiny.card(head, "tiny-eagle", family.name))


def driven(target, drafter, settings, text=TEXT):
    """Commit `text` in chunks; after each chunk yield the text so far and a proposal.

    Row i of a chunk's states is the state of the token before the chunk's token i.
    """
    with torch.inference_mode():
        whole = target.model(torch.tensor([text]), output_hidden_states=True).hidden_states
    session = drafter.begin(target.start(drafter.capture), settings)
    at = 0
    for number, many in enumerate(CHUNKS):
        rows = slice(at, at + many)
        layers = {k: whole[k][0, rows] for k in drafter.capture.layers}
        final = whole[-1][0, rows] if drafter.capture.final else None
        session.commit(text[at + 1 : at + 1 + many], States(layers, final))
        at += many
        known, chance = text[: at + 1], Chance(1, number)
        yield known, session.propose(known, tiny.max_tokens(settings), chance)


def plain_logits(head, states, logits_of, target, text, path):
    """Return the head's logits after `path`, by plain causal passes without cache or tree mask.

    states: (n - 1, h), in the head's format, for all tokens of `text` but the last.
    """
    embed = target.model.get_input_embeddings()
    tokens = [*text[1:], *path]
    with torch.inference_mode():
        while True:
            words = embed(torch.tensor(tokens[: len(states)]))
            out = head(states[None], words[None], torch.arange(len(states)), causal)[0]
            if len(states) == len(tokens):
                return logits_of(out[-1])
            states = torch.cat([states, out[-1:]])


def finals(target, text):
    with torch.inference_mode():
        return target.model(torch.tensor([text]), output_hidden_states=True).hidden_states[-1][0]


def check_dynamic(target, made, text, proposal, states, logits_of):
    """Check scores, totals and the choice of tokens against plain passes."""
    tree = proposal.tree
    assert proposal.drawn is Drawn.POINT_MASS
    assert not proposal.q
    assert proposal.evidence[0]["kept"] == len(tree) - 1 <= 24
    total = {0: 1.0}
    for node, kids in enumerate(tree.children):
        if kids:
            path = [tree.tokens[n] for n in tree.path(node)[1:]]
            soft = plain_logits(made.head, states, logits_of, target, text, path).softmax(-1)
            tokens = [tree.tokens[kid] for kid in kids]
            assert tokens == soft.topk(len(kids)).indices.tolist()
            for kid, token in zip(kids, tokens, strict=True):
                assert proposal.score[kid] == pytest.approx(soft[token].item(), abs=1e-4)
                total[kid] = total[node] * soft[token].item()
                assert proposal.evidence[kid]["path"] == pytest.approx(total[kid], abs=1e-4)
    places = sorted(range(1, len(tree)), key=lambda n: proposal.evidence[n]["place"])
    assert [proposal.evidence[n]["place"] for n in places] == list(range(1, len(tree)))
    falling = [total[n] for n in places]
    assert falling == pytest.approx(sorted(falling, reverse=True), abs=1e-4)


def check_places(places, laws):
    """Check that evidence has the top tokens of each law."""
    for place, law in zip(places, laws, strict=True):
        values, ids = law.topk(TOP_COUNT)
        assert [each["token"] for each in place] == ids.tolist()
        assert [each["p"] for each in place] == pytest.approx(values.tolist(), abs=1e-4)


def check_refused(trace, event, changes):
    """Check that `check` accepts a trace, and refuses it with each change of an event."""
    check(trace)
    for change, problem in changes:
        events = list(trace.events)
        events[events.index(event)] = replace(event, **change)
        with pytest.raises(CheckFailed, match=problem):
            check(replace(trace, events=tuple(events)))


class Shifted:
    """A drafter whose sessions receive every state one token late: an off-by-one error."""

    def __init__(self, drafter):
        self.drafter = drafter
        self.name, self.card, self.capture = drafter.name, drafter.card, drafter.capture
        self.made_for = drafter.made_for

    def begin(self, target, settings):
        session = self.drafter.begin(target, settings)
        commit, last = session.commit, []

        def late(tokens, states, extra_rows=None):
            before = last[-1] if last else states.take([0])
            last.append(states.take([len(tokens) - 1]))
            commit(tokens, joined(before, states.take(range(len(tokens) - 1))), extra_rows)

        session.commit = late
        return session


def joined(one, other):
    """Concatenate two sets of states."""
    final = None if one.final is None else torch.cat([one.final, other.final])
    layers = {k: torch.cat([rows, other.layers[k]]) for k, rows in one.layers.items()}
    keys_values = {
        k: tuple(map(torch.cat, zip(pair, other.keys_values[k], strict=True)))
        for k, pair in one.keys_values.items()
    }
    return States(layers, final, keys_values)


def turns(target, made, settings, prompt=tiny.PROMPT):
    """Yield the rounds after the prefill, each with the text before it."""
    text = target.encode(prompt, settings.max_new_tokens)
    for turn in rounds(target, made, list(text), settings):
        if turn.number:
            yield list(text), turn
        text += turn.tokens


def session_after(text, made, settings, target):
    """Start a session that reads the whole text at once; its newest token has no state."""
    run = target.start(made.capture)
    states = run.prefill(text[:-1]).states
    session = made.begin(run, settings)
    session.commit(text[1:], states)
    return session


def accepted_share(target, made, settings, prompts, first=0):
    """Return the share of judged guesses that were accepted, from a draft's guess `first` on."""
    kept = judged = 0
    for prompt in prompts:
        for _, turn in turns(target, made, settings, prompt):
            kept += max(0, len(turn.verdict.path) - first)
            judged += max(0, len(turn.verdict.decisions) - first)
    return kept / judged


GONE = object()  # the value of an entry to remove


def write_head(folder, head, config=None, tensors=None):
    """Save a head with changes of its config and its tensors."""
    head.save(folder)
    file, weights = folder / "config.json", folder / "model.safetensors"
    data = json.loads(file.read_text()) | (config or {})
    file.write_text(json.dumps({key: value for key, value in data.items() if value is not GONE}))
    changed = load_file(weights) | (tensors or {})
    save_file({key: value for key, value in changed.items() if value is not GONE}, weights)
