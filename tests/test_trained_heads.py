"""Guarantees of all trained heads: they save passes, and an off-by-one error is seen.

Some tests concern only the families of heads that guess several tokens ahead: Medusa, blockwise,
L-MTP, parallel layers, DeepSeek's module.
"""

from __future__ import annotations

from dataclasses import replace

import circle
import dflash_made
import headed
import moa_made
import pytest
import test_dflash2
import test_dspark
import test_jetspec
import test_p_eagle
import test_pard
import torch
from driven import Shifted, accepted_share, turns

from specviz.catalog.loading import trainable_heads, training_family
from specviz.drafters.common.training import read_target_outputs
from specviz.settings.settings import Sampling, Settings

pytestmark = pytest.mark.slow

NAMES = list(headed.CONFIGS)
GREEDY = Settings(Sampling(0), gamma=4, max_new_tokens=40, budget=4, fan_out=1)


def share(drafter):
    """Return the share of judged tokens that were accepted in a few greedy runs."""
    settings = replace(GREEDY, gamma=3, max_new_tokens=24)
    return accepted_share(headed.target(), drafter, settings, headed.PROMPTS[:2])


DRAFTERS = {
    **{name: lambda name=name: headed.drafter(name) for name in NAMES},
    "dflash": dflash_made.drafter,
    "p-eagle": test_p_eagle.drafter,
    "pard": test_pard.trained_drafter,
}
# DeepSeek's module and DFlash also read the newest token, so they lose less.
LATE = {"mtp": lambda right: right - 0.05, "dflash": lambda right: right - 0.1, "pard": None}


@pytest.mark.parametrize("name", DRAFTERS)
def test_trained_heads_are_accepted_unless_states_are_shifted_by_one(name):
    right = share(DRAFTERS[name]())
    assert right > 0.4
    limit = LATE.get(name, lambda right: right / 2)
    if limit is not None:  # PARD reads no states
        assert share(Shifted(DRAFTERS[name]())) < limit(right)


def pair(name):
    """Return a target and a drafter of a trainable family that it often agrees with."""
    if name in ("eagle", "eagle3"):
        counts = circle.target(0.2)
        counts.eos = ()
        return counts, circle.drafters(counts, 0.02)[name]
    more = {
        "moa": moa_made.drafter, "dspark": test_dspark.drafter, "dflash2": test_dflash2.drafter,
        "jetspec": test_jetspec.drafter,
    }  # fmt: skip
    return headed.target(), (DRAFTERS | more)[name]()


# Their later guesses depend on their own guesses: compared up to the first rejection.
OWN_GUESSES = {"mtp", "eagle", "eagle3", "moa", "dspark", "dflash2"}


@pytest.mark.parametrize("name", trainable_heads())
def test_guesses_of_a_session_equal_the_predictions_in_training(name):
    """The newest token is at n, its predictor at n - 1: row n - 1 of the loss's logits."""
    (target, made), family = pair(name), training_family(name)
    settings = replace(GREEDY, fan_out=1) if name == "jetspec" else GREEDY  # a chain
    seen = list(turns(target, made, settings, headed.PROMPTS[0]))
    whole = torch.tensor([[*seen[-1][0], *seen[-1][1].tokens]])
    said = family.predict(made.head, read_target_outputs(target.model, whole, family.keys_values))
    compared = 0
    for text, turn in seen:
        row, tree, evidence = len(text) - 2, turn.proposal.tree, turn.proposal.evidence
        assert set(evidence) == set(range(len(tree)))
        assert set(turn.proposal.score) == set(range(1, len(tree)))
        if name in NAMES:
            assert all(evidence[node]["state"] in (row, row - 1) for node in range(1, len(tree)))
        known = 1 + len(turn.verdict.path) if name in OWN_GUESSES else len(tree)
        for node, logits in zip(range(1, min(len(tree), known + 1)), said, strict=False):
            if row < logits.shape[1]:
                law = logits[0, row].softmax(-1)
                found = law[tree.tokens[node]].item()
                assert found == pytest.approx(law.max().item(), abs=1e-4)
                assert turn.proposal.score[node] == pytest.approx(found, abs=1e-3)
                compared += 1
    assert compared > 10


@pytest.mark.parametrize("name", [*DRAFTERS, "moa", "dspark"])
def test_training_raises_the_agreement_at_the_first_depths(name):
    """PARD trains the later depths rarely, so that a short training may not reach them."""
    family, target = training_family(name), headed.target()
    counts = headed.words().bincount(minlength=target.vocab_size)
    torch.manual_seed(1)
    new = family.build(target, counts).eval()
    text = headed.windows(10_060)
    outputs = read_target_outputs(target.model, text, family.keys_values)
    found, started = (family.agreement(head, outputs) for head in (pair(name)[1].head, new))
    common = text.flatten().bincount().max().item() / text.numel()
    for depth in range(3):
        assert found[depth] > max(common, started[depth] + min(0.05, 0.2 * (1 - started[depth])))
