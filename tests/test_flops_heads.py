"""FLOPs of Mixture of Attentions and DFlash, from the trace alone, are those that torch counts."""

from __future__ import annotations

from dataclasses import replace

import dflash_made
import headed
import moa_made
import pytest
from torch.utils.flop_counter import FlopCounterMode

from specviz import engine
from specviz.compare.flops import flops
from specviz.compare.reading import READERS
from specviz.compare.sizes import FAMILIES, causal, drafted
from specviz.settings.settings import Sampling, Settings
from specviz.trace.file import Trace

GREEDY = Settings(Sampling(0), gamma=4, budget=8, fan_out=3, max_new_tokens=24)
WARM = replace(GREEDY, sampling=Sampling(1.0), max_new_tokens=17)
NARROW = replace(GREEDY, budget=2, fan_out=1, gamma=2)
LEARNING = replace(GREEDY, schedule="learning", gamma=1)


def weights_met(work):
    """FLOPs of all products of rows with weights while `work` runs; attention's own are none."""
    with FlopCounterMode(display=False) as counter:
        work()
    found = counter.get_flop_counts()["Global"].items()
    return sum(many for operation, many in found if str(operation) in ("aten.mm", "aten.addmm"))


def drafter(family, learnt):
    """That kind of drafter for the taught target: one that is often right, or one never taught."""
    target = headed.target()
    if family == "moa":
        return moa_made.drafter(None if learnt else moa_made.wild(target))
    return dflash_made.drafter(None if learnt else dflash_made.random_head())


CASES = [(GREEDY, True), (WARM, True), (WARM, False), (NARROW, False), (LEARNING, True)]


@pytest.mark.parametrize(("settings", "learnt"), CASES)
@pytest.mark.parametrize("family", ["moa", "dflash"])
def test_flops_are_those_that_torch_counts(family, settings, learnt):
    target, found = headed.target(), drafter(family, learnt)
    assert found.card.family == family
    prompt = headed.PROMPTS[1]
    ids = target.encode(prompt, settings.max_new_tokens)
    truth = weights_met(lambda: list(engine.rounds(target, found, ids, settings)))
    header, *events = engine.run(target, found, prompt, settings, baseline=False)
    derived = flops(Trace(header, events), causal(target.model), drafted(found, target))
    assert derived.total == truth
    assert derived.drafter > 0


def test_every_family_whose_rows_are_counted_has_its_weights_counted():
    assert READERS.keys() - FAMILIES.keys() == {
        "ngram", "suffix", "lookahead", "uniform", "layerskip",
    }  # fmt: skip
    assert FAMILIES.keys() <= READERS.keys()
