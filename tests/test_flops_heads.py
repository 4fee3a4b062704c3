"""FLOPs of every family, computed from its trace, equal those that torch counts."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import tiny
from families import KNOWING_NOTHING, target_of
from torch.utils.flop_counter import FlopCounterMode

from specviz import engine
from specviz.catalog import entries
from specviz.compare.measures import count_flops
from specviz.models.passes import causal_lm_weights
from specviz.settings.settings import Sampling, Settings
from specviz.trace.file import Trace

pytestmark = pytest.mark.slow


def weights_met(work):
    """Count FLOPs of products of rows with weights during `work`, without those of attention."""
    with FlopCounterMode(display=False) as counter:
        work()
    found = counter.get_flop_counts()["Global"].items()
    return sum(many for operation, many in found if str(operation) in ("aten.mm", "aten.addmm"))


def counted(target, found, settings):
    """Return a run's FLOPs as computed from its trace, and as counted by torch."""
    prompt = headed.PROMPTS[1]
    ids = target.encode(prompt, settings.max_new_tokens)
    truth = weights_met(lambda: list(engine.rounds(target, found, ids, settings)))
    header, *events = engine.run(target, found, prompt, settings, baseline=False)
    trace = Trace.parse(Trace(header, events).lines())
    return count_flops(trace, causal_lm_weights(target.model), found.weights(target)), truth


MAKERS = {**KNOWING_NOTHING, "draft-model": lambda target: tiny.draft()}
FREE = {"ngram", "suffix", "lookahead", "uniform"}  # without a network of their own
LEVELS = Settings(
    Sampling(0), gamma=4, budget=8, fan_out=3, exit_layer=1, siblings=[3, 2], schedule="learning",
    max_new_tokens=7,
)  # fmt: skip
SMALL = replace(LEVELS, budget=2, fan_out=1, gamma=1, siblings=[])
WARM = replace(LEVELS, sampling=Sampling(1.0), gamma=3, confidence=0.2)
GRID = [WARM, *(pytest.param(each, marks=pytest.mark.nightly) for each in (SMALL, LEVELS))]


@pytest.mark.parametrize("settings", GRID)
@pytest.mark.parametrize("family", MAKERS)
def test_computed_flops_of_each_drafter_family_equal_the_torch_count(family, settings):
    target = target_of(family)
    derived, truth = counted(target, MAKERS[family](target), settings)
    assert derived.total == truth
    assert (derived.drafter == 0) == (family in FREE)


def test_flop_count_of_every_drafter_family_is_tested():
    assert {entry.family for entry in entries() if entry.kind == "drafter"} <= MAKERS.keys()
