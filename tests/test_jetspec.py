"""JetSpec: a causal block, trees that grow best first, training, traces and public files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import dflash_made
import headed
import published
import pytest
import tiny
import torch
from driven import check_refused, deep_target, driven, session_after
from once import once
from safetensors.torch import save_file
from test_engine import traced

from specviz.catalog.loading import load_drafter
from specviz.drafters.dflash import head as training
from specviz.drafters.jetspec import BestFirstTree, JetSpec, JetSpecConfig, JetSpecHead
from specviz.models.errors import Unsuitable
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import CheckFailed, check
from specviz.trace.check.evidence.blocks import check_best_first
from specviz.verification import Drawn

pytestmark = pytest.mark.slow

SIZE = dflash_made.SIZE
GREEDY = Settings(Sampling(0), gamma=9, budget=12, fan_out=3, max_new_tokens=40)


def config(target=None, **changes):
    """Return the house config with smaller blocks, and two taps of a three-layer target."""
    usual = JetSpecConfig.house(target or headed.target())
    taps = usual.target_layer_ids if target else (0, 1)
    return replace(usual, block_size=SIZE, target_layer_ids=taps, **changes)


def random_head(target=None, **changes):
    """Return a head with large random weights and norms, so that every part matters."""
    head = JetSpecHead(config(target, **changes)).eval().requires_grad_(False)
    plain = dflash_made.random_head(target, **changes)
    head.load_state_dict(plain.state_dict())
    return head


@once
def trained():
    """Return the head that most tests use."""
    return dflash_made.fitted(lambda: JetSpecHead(config()), training.loss, 110)


def drafter(head=None):
    """Return the drafter with the learned head, or with the given one."""
    head = head or trained()
    return JetSpec(head, tiny.card(head, "tiny-jetspec", "jetspec"))


# The block


def as_dflash(head, size):
    """Return a DFlash head with the same weights and blocks of `size`."""
    plain = dflash_made.DFlashHead(replace(dflash_made.config(deep_target()), **sizes(head, size)))
    plain.load_state_dict(head.state_dict())
    return plain.eval()


def sizes(head, size):
    return {"block_size": size, "num_hidden_layers": head.config.num_hidden_layers}


def test_position_attends_to_no_later_position():
    """With one layer, position k of a causal block is the last position of a DFlash block of k."""
    target = deep_target()
    head = random_head(target, num_hidden_layers=1)
    settings = replace(GREEDY, fan_out=1, budget=9)
    differs = 0.0
    for text, proposal in driven(target, drafter(head), settings):
        whole = dflash_made.plain_logits(as_dflash(head, SIZE), target, text).softmax(-1)
        for k in range(1, len(proposal.tree)):  # fewer if a guess ends the text
            plain = as_dflash(head, k + 1)
            soft = dflash_made.plain_logits(plain, target, text)[-1].softmax(-1)
            assert proposal.tree.tokens[k] == soft.argmax().item()
            assert proposal.score[k] == pytest.approx(soft.max().item(), abs=1e-4)
            differs = max(differs, (whole[k - 1] - soft).abs().max().item())
    assert differs > 0.01


def test_training_logits_equal_those_of_a_session():
    head, target = random_head(), headed.target()
    text = target.encode("The cat saw the dog and", 4)
    outputs = headed.read_target_outputs(target.model, torch.tensor([text]))
    anchor = len(text) - SIZE - 1
    with torch.inference_mode():
        rows = training.blocks(head, outputs, torch.tensor([anchor]))[0, 0]
        before = text[: anchor + 1]
        session = session_after(before, drafter(head), GREEDY, target)
        expected = session.reader.block(before)[1:]
        bidirectional = training.blocks(dflash_made.random_head(), outputs, torch.tensor([anchor]))
    assert torch.allclose(rows, expected, atol=1e-4)
    assert not torch.allclose(rows[0], bidirectional[0, 0, 0], atol=1e-2)


# The tree


def best_paths(logs, count):
    """Return the sums of the `count` likeliest paths, by enumeration of all paths."""
    paths = [
        path
        for depth in range(1, len(logs) + 1)
        for path in product(range(len(logs[0])), repeat=depth)
    ]
    return sorted((sum(logs[d][r] for d, r in enumerate(path)) for path in paths), reverse=True)[
        :count
    ]


def test_expanded_paths_are_the_likeliest_of_all():
    """The nodes with children are the root and the likeliest paths, by enumeration."""
    torch.manual_seed(1)
    for budget in (1, 2, 5, 12, 30, 200):
        logs = torch.randn(4, 3).log_softmax(-1).sort(descending=True).values.tolist()
        tree = BestFirstTree(9, [[1, 2, 3]] * 4, logs)
        tree.grow(budget, ())
        total = 3 + 9 + 27 + 81
        assert len(tree.tokens) - 1 == min(budget, total)
        for node in range(1, len(tree.tokens)):
            path = tree.paths[node]
            assert tree.totals[node] == pytest.approx(sum(logs[d][r] for d, r in enumerate(path)))
            assert tree.paths[tree.parents[node]] == path[:-1]
            assert tree.tokens[node] == path[-1] + 1
        inner = [n for n in dict.fromkeys(tree.parents[1:]) if n]
        expected = best_paths(logs[:-1], len(inner))
        assert [tree.totals[n] for n in inner] == pytest.approx(expected)


def test_proposal_is_a_point_mass_with_the_candidates_of_one_pass():
    target = deep_target()
    for settings in (GREEDY, replace(GREEDY, sampling=Sampling(1.1))):
        for text, proposal in driven(target, drafter(random_head(target)), settings):
            assert proposal.drawn is Drawn.POINT_MASS
            assert not proposal.q
            assert len(proposal.tree) - 1 == settings.budget
            remark = proposal.evidence[0]
            assert remark["passes"] == 1
            assert remark["states"] == len(text) - 1
            for node in range(1, len(proposal.tree)):
                path = proposal.evidence[node]["path"]
                place = remark["places"][len(path) - 1][path[-1]]
                assert place["token"] == proposal.tree.tokens[node]
                assert proposal.score[node] == pytest.approx(place["p"])


def test_draft_has_the_depth_that_the_token_budget_allows():
    text = headed.target().encode("The cat saw the", 9)
    for room, depth in ((1, 0), (2, 1), (3, 2), (99, SIZE - 1)):
        session = session_after(text, drafter(), replace(GREEDY, fan_out=1), headed.target())
        proposal = session.propose(text, room, Chance(1, 1))
        assert max(proposal.tree.depths) == depth
        assert proposal.evidence[0]["passes"] == (depth > 0)
        proposal.check(Drawn.POINT_MASS, room, ())


def test_session_predicts_the_same_after_all_nodes_of_a_depth():
    text = headed.target().encode("The cat saw the", 9)
    session = session_after(text, drafter(), GREEDY, headed.target())
    first = session.logits_after(text, [text[-1]], [-1], [0])
    second = session.logits_after(text, [text[-1], 3, 4], [-1, 0, 0], [1, 2])
    assert torch.equal(second[0], second[1])
    assert not torch.equal(first[0], second[0])
    deep = list(range(SIZE + 1))
    assert session.logits_after(text, deep, [-1, *deep[:-1]], [SIZE - 1]).isneginf().all()


# Traces


def test_check_accepts_the_trace_and_detects_another_tree():
    settings = replace(GREEDY, sampling=Sampling(0.8))
    trace = traced(headed.target(), drafter(), headed.PROMPTS[0], settings)
    found = next(e for e in trace.events if len(getattr(e, "guesses", ())) == 12)
    guesses = list(found.guesses)
    last = guesses[-1]

    def changed(**evidence):
        return [*guesses[:-1], replace(last, evidence={**last.evidence, **evidence})]

    places = [[dict(each) for each in row] for row in found.remark["places"]]
    places[0][0]["p"] += 0.01
    changes = [
        ({"guesses": changed(total=last.evidence["total"] - 0.1)}, "its path's sum is"),
        ({"guesses": changed(path=[0])}, "path"),
        ({"remark": {**found.remark, "places": places}}, "its score is"),
    ]
    check_refused(trace, found, changes)
    larger = replace(trace.header, settings={**trace.header.settings, "budget": 13})
    with pytest.raises(CheckFailed, match="it has 12 guesses, but could have more"):
        check(replace(trace, header=larger))


@pytest.mark.parametrize(
    ("parents", "problem"),
    [
        ([0, 0, 1, 1, 3, 3], None),
        ([0, 0, 2, 2, 1, 1], "a likelier path was not continued"),
        ([0, 0, 1, 1, 2, 2], "a likelier path was not continued"),
        ([0, 0, 1, 3, 3, 2], "node 1 has 1 of 2 candidates"),
        ([0, 0, 1, 1], "it has 4 guesses, but could have more"),
    ],
)
def test_check_detects_a_tree_that_did_not_grow_best_first(parents, problem):
    """Candidates have probabilities 0.7 and 0.3 at each of three depths."""
    totals, depths, guesses = [0.0], [0], []
    for node, parent in enumerate(parents, 1):
        rank = parents[: node - 1].count(parent)
        totals.append(totals[parent] + math.log((0.7, 0.3)[rank]))
        depths.append(depths[parent] + 1)
        guesses.append(SimpleNamespace(parent=parent, token=rank))
    settings, header = SimpleNamespace(budget=6, fan_out=2), SimpleNamespace(vocab_size=9)
    draft = SimpleNamespace(
        guesses=guesses, settings=settings, header=header, eos=(), where="Round 1"
    )
    able = [depth < 3 for depth in depths]
    if problem is None:
        check_best_first(draft, able, totals)
        return
    with pytest.raises(CheckFailed, match=problem):
        check_best_first(draft, able, totals)


# Public files

JETSPEC = {
    **published.DFLASH,
    "dflash_config": {**published.DFLASH["dflash_config"], "causal_head": True},
}


def write(folder, config, tensors):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors")
    return str(folder)


def test_every_tensor_of_a_published_file_is_used(tmp_path):
    tensors = published.dflash_tensors()
    made = load_drafter(write(tmp_path / "a", JETSPEC, tensors), published.target())
    assert isinstance(made, JetSpec)
    state = made.head.state_dict()
    assert state.keys() == tensors.keys()
    assert all(torch.equal(state[key], value) for key, value in tensors.items())
    check(traced(published.target(), made, tiny.PROMPT, replace(GREEDY, max_new_tokens=12)))


@pytest.mark.parametrize(
    ("changes", "more", "problem"),
    [
        ({"sliding_window": 4, "layer_types": ..., "use_sliding_window": True}, {}, "sliding"),
        ({"is_causal": False}, {}, "sets is_causal"),
        ({}, {"hidden_dim_adapter.proj.weight": torch.zeros(2)}, "hidden_dim_adapter"),
        ({}, {"lm_head.weight": torch.zeros(2)}, r"lm_head\.weight"),
    ],
)
def test_file_that_is_not_supported_is_refused(tmp_path, changes, more, problem):
    config = {k: v for k, v in (JETSPEC | changes).items() if v is not ...}
    folder = write(tmp_path / "a", config, published.dflash_tensors() | more)
    with pytest.raises(Unsuitable, match=problem):
        load_drafter(folder, published.target())
