"""Trees built on the device without reads equal trees built level by level.

They run on a simulated GPU. Levels are built again if the host reads unexpected values: a guess
that ends the text, a u beyond the top tokens, a distribution with too few tokens.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import counted
import pytest
import tiny
import torch
from driven import grid
from test_other_vocabulary import bees

from specviz.catalog import load
from specviz.drafters.common import candidates as siblings
from specviz.drafters.common.dynamic_session import DynamicSession
from specviz.drafters.common.proposal_builder import ProposalBuilder, TreeShape
from specviz.drafters.common.session import LevelSession, build_tree
from specviz.drafters.contract.harness import ROUNDING, SCORE_TOLERANCE, rounds_of
from specviz.drafters.draft_model import DraftModelSession
from specviz.drafters.eagle import EagleSession
from specviz.drafters.layerskip import LayerSkipSession
from specviz.drafters.mtp import MTPSession
from specviz.drafters.other_vocabulary import OtherVocabulary
from specviz.settings.settings import Sampling, Settings
from specviz.verification.transfer import UploadBatch

pytestmark = pytest.mark.slow

WARM = Settings(Sampling(1.0), max_new_tokens=16, gamma=4, siblings=[3, 3], seed=3)
HOT = replace(WARM, sampling=Sampling(2.0), max_new_tokens=8)
MILD = replace(WARM, sampling=Sampling(0.7))
GREEDY = replace(WARM, sampling=Sampling(0.0))
FEW = replace(WARM, sampling=Sampling(1.0, top_k=2), max_new_tokens=10)


SESSIONS = {
    "eagle": EagleSession,
    "draft-model": DraftModelSession,
    "layerskip": LayerSkipSession,
    "mtp": MTPSession,
}
DYNAMIC = ["eagle3", "moa"]  # EAGLE-2 has the sessions of EAGLE-3


def alternating(*settings):
    """Return each session with one of two settings in turn; with the other one nightly."""
    return [
        pytest.param(name, settings[(n + late) % 2], marks=pytest.mark.nightly if late else ())
        for n, name in enumerate(SESSIONS)
        for late in (0, 1)
    ]


WIDE = replace(GREEDY, budget=10, fan_out=3)


def played(device, drafter, settings, eos=()):
    """Return a run's proposals for a target with these end-of-text tokens."""
    target, drafter = load("house", drafter, device, "float32")
    usual, target.eos = target.eos, tuple(eos)
    try:
        rounds = rounds_of(target, drafter, target.encode(counted.PROMPT, 16), settings)
    finally:
        target.eos = usual
    return [one.proposal for one in rounds[1:]]


def same(there, here):
    """Return whether proposals are equal up to rounding, since the CPU packs weights."""
    for one, other in zip(there, here, strict=True):
        assert one.tree == other.tree
        coins = [[(draw.token, draw.u) for draw in each.draws.values()] for each in (one, other)]
        assert coins[0] == coins[1]
        assert one.score == pytest.approx(other.score, abs=SCORE_TOLERANCE)
        assert list(one.q) == list(other.q)
        for node, q in one.q.items():
            assert q.tolist() == pytest.approx(other.q[node].tolist(), abs=ROUNDING)
    return True


@pytest.fixture
def dropped_levels(monkeypatch):
    """Return, for each read of the host, how many levels were computed and then dropped."""
    found, add = [], ProposalBuilder.add

    def noted(grown, levels, *more):
        add(grown, levels, *more)
        found.append(sum(level.nodes[0] >= grown.newest.start for level in levels))

    monkeypatch.setattr(ProposalBuilder, "add", noted)
    return found


@pytest.fixture
def transfers(monkeypatch):
    """Return (reads, uploads) of each proposal, except those of the first and last rounds.

    Caches allocate in the first round, and the last round has no tokens left for guesses.
    """

    def counted_run(drafter, settings):
        owner = SESSIONS.get(drafter, DynamicSession)
        found, propose = [], owner.propose

        def counting(*given):
            before = device_log.counts.copy()
            proposal = propose(*given)
            found.append([device_log.counts[kind] - before[kind] for kind in ("reads", "uploads")])
            return proposal

        with counted.gpu() as device_log:
            few = replace(settings, max_new_tokens=3)
            played("cuda", drafter, few)  # moves the rotary frequencies to the device
            monkeypatch.setattr(owner, "propose", counting)
            there = played("cuda", drafter, settings)
        assert same(there, played("cpu", drafter, settings))
        assert max(max(each.tree.depths) for each in there) == 4
        return found[1 : len(there) - 1]

    return counted_run


@pytest.mark.parametrize(("drafter", "settings"), alternating(MILD, GREEDY))
def test_static_tree_is_built_with_one_read(transfers, dropped_levels, drafter, settings):
    uploads = [1, 2] if drafter == "draft-model" else [1]  # its cache may get a path
    found = transfers(drafter, settings)
    assert found
    assert all(reads == 1 and many in uploads for reads, many in found)
    assert not any(dropped_levels)


@pytest.mark.parametrize("drafter", DYNAMIC)
def test_dynamic_tree_is_built_with_one_read_and_one_upload(transfers, drafter):
    found = transfers(drafter, WIDE)
    assert found
    assert found == [[1, 1]] * len(found)


@pytest.mark.parametrize(("drafter", "budget"), [("eagle3", 3), ("moa", 5)])
def test_dynamic_tree_built_on_the_device_equals_one_built_with_reads(drafter, budget):
    """Include nodes that were expanded but fall outside the budget or end the text."""
    settings = replace(WIDE, budget=budget)
    usual = played("cpu", drafter, settings)
    said = {token for each in usual for token in each.tree.tokens[:1]}
    inner = {each.tree.tokens[each.tree.parents[-1]] for each in usual} - said
    for eos in ((), inner):
        here = played("cpu", drafter, settings, eos)
        with counted.gpu():
            there = played("cuda", drafter, settings, eos)
        assert same(there, here)
        for one, other in zip(there, here, strict=True):
            for node in range(1, len(one.tree)):
                assert one.evidence[node]["place"] == other.evidence[node]["place"]
            assert one.evidence[0]["weighed"] == other.evidence[0]["weighed"]
    assert [each.tree for each in here] != [each.tree for each in usual]


@pytest.mark.parametrize(("drafter", "settings"), alternating(GREEDY, WARM))
def test_no_guess_follows_an_end_token(dropped_levels, drafter, settings):
    settings = replace(settings, max_new_tokens=10)
    usual = played("cpu", drafter, settings)
    said = {token for each in usual for token in each.tree.tokens[:1]}
    inner = {each.tree.tokens[each.tree.parents[-1]] for each in usual} - said
    here = played("cpu", drafter, settings, inner)
    assert not any(dropped_levels)
    with counted.gpu():
        there = played("cuda", drafter, settings, inner)
    assert same(there, here)
    assert [each.tree for each in here] != [each.tree for each in usual]
    assert any(dropped_levels)


def on_both(drafter, settings, prepare=lambda: None):
    """Return the proposals of the host and of the device, which are the same."""
    here = played("cpu", drafter, settings)
    prepare()
    with counted.gpu():
        there = played("cuda", drafter, settings)
    assert same(there, here)
    return there


@pytest.mark.parametrize("drafter", grid(SESSIONS, every=2))
def test_level_is_built_again_if_u_lies_beyond_the_top_tokens(monkeypatch, dropped_levels, drafter):
    on_both(drafter, HOT, lambda: monkeypatch.setattr(siblings, "TOP_SIZES", (64, 2)))
    assert any(dropped_levels)


@pytest.mark.parametrize("drafter", grid(["draft-model", "eagle", "layerskip"], every=3))
def test_distribution_with_few_tokens_gives_few_siblings(dropped_levels, drafter):
    there = on_both(drafter, FEW)
    assert all(len(kids) <= 2 for each in there for kids in each.tree.children)
    assert any(dropped_levels)


def test_confidence_threshold_makes_the_host_read_every_level(dropped_levels):
    on_both("draft-model", replace(MILD, confidence=0.5))
    assert not any(dropped_levels)


def test_draft_model_of_another_vocabulary_builds_the_same_tree_on_the_device(pair, tmp_path):
    folder = tiny.save(tiny.llama(5), tmp_path / "bees", bees())

    def proposals(device):
        target, drafter = load(str(pair[0]), str(folder), device, "float32")
        assert isinstance(drafter, OtherVocabulary)
        rounds = rounds_of(target, drafter, target.encode(tiny.PROMPT, 16), WARM)
        return [one.proposal for one in rounds[1:]]

    here = proposals("cpu")
    with counted.gpu():
        there = proposals("cuda")
    assert same(there, here)
    assert max(len(each.tree) for each in there) > 9


class Apart(LevelSession):
    """A session on a device without float64, simulated on the host."""

    def plan_level(self, context, level, uploads):
        return lambda words: torch.arange(9.0).expand(len(level.nodes), -1)


def test_no_float64_is_sent_to_devices_without_it(monkeypatch):
    sent = []
    monkeypatch.setattr(
        UploadBatch, "put", lambda uploads, made: sent.append(made.dtype) or (lambda: made)
    )
    grown = ProposalBuilder("it", 1, WARM, (), WARM.chance(1))
    target = SimpleNamespace(device=torch.device("mps"), vocab_size=9, eos=())
    build_tree(grown, Apart("it", target, WARM), [1], TreeShape(2))
    assert len(grown.tokens) == 1 + 3 + 3 * 3
    assert sent
    assert torch.float64 not in sent
