"""Medusa, and heads like it: blockwise decoding and L-MTP, which guess from known states."""

from __future__ import annotations

import json
from dataclasses import replace

import headed
import pytest
import tiny
import torch
from safetensors.torch import save_file

from specviz.drafters.blockwise import BlockwiseConfig, BlockwiseHeads
from specviz.drafters.common.rank_paths import all_paths, chosen_paths, tree_of_ranks
from specviz.drafters.lmtp import LeapConfig, LeapHeads, source
from specviz.drafters.medusa import MedusaConfig, MedusaHeads
from specviz.settings.chance import Chance
from specviz.settings.settings import MAX_GUESSES, BadSettings, Sampling, Settings, tree_size

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(0), gamma=3)
TREE = replace(GREEDY, siblings=[3, 2])
TEXT = "The cat saw the"


def ids():
    return headed.target().encode(TEXT, 9)


def final_states():
    """Return the target's final states (n, h) of TEXT."""
    return headed.read_target_outputs(headed.target().model, torch.tensor([ids()])).final[0]


def proposed(settings, head=None, name="medusa"):
    session = headed.start_session(name, ids(), settings, head)
    return session.propose(ids(), tiny.max_tokens(settings), Chance(1, 1))


def choosing(*paths, gamma=4):
    """Return settings with these rank paths."""
    return replace(GREEDY, gamma=gamma, rank_paths=[list(path) for path in paths])


# Medusa


def test_siblings_setting_gives_every_rank_path_within_its_widths():
    for siblings in ([], [3], [3, 2], [1, 3], [2, 2, 2]):
        settings = replace(GREEDY, siblings=siblings)
        paths = all_paths(settings, 3)
        assert len(paths) == len(set(paths)) == tree_size(siblings, 3)
        assert paths == sorted(paths, key=lambda path: (len(path), path))
        assert all(rank < settings.width(d) for path in paths for d, rank in enumerate(path))


def test_candidates_at_a_depth_are_the_top_tokens_of_its_head():
    states, target = final_states(), headed.target()
    with torch.inference_mode():
        logits = headed.heads("medusa")(states[-2], target.model.lm_head)
    proposal = proposed(TREE)
    tree = proposal.tree
    assert tree.parents == (-1, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9)
    for node, kids in enumerate(tree.children):
        if kids:
            best = logits[tree.depths[node]].topk(len(kids)).indices.tolist()
            assert [tree.tokens[kid] for kid in kids] == best
    assert proposal.evidence[0] == {"form": "heads", "heads": 4}
    assert proposal.evidence[7] == {"head": 2, "state": len(ids()) - 2, "path": [1, 1]}
    assert proposal.score[1] > proposal.score[2] > proposal.score[3] > 0
    assert proposal.score[4] == proposal.score[6] == proposal.score[8]  # conditionally independent
    deepest = proposed(replace(GREEDY, gamma=9)).tree
    assert max(deepest.depths) == headed.CONFIGS["medusa"].medusa_num_heads


def test_rank_paths_select_a_tree_like_medusa_choices():
    paths = [(0,), (0, 0), (1,), (0, 0, 1), (3,), (0, 2)]
    proposal = proposed(choosing(*paths))
    given = [tuple(proposal.evidence[node]["path"]) for node in range(1, len(proposal.tree))]
    assert given == [(0,), (1,), (3,), (0, 0), (0, 2), (0, 0, 1)]
    assert proposal.tree.parents == (-1, 0, 0, 0, 1, 1, 4)
    assert len(proposed(choosing(*paths, gamma=2)).tree) == 6
    assert len(proposed(choosing(*paths, gamma=1)).tree) == 4


def test_rank_path_without_its_parent_is_refused():
    for paths, named in (
        ([[0, 1]], r"\[0, 1\]"), ([[0], [1, 0]], r"\[1, 0\]"), ([[-1]], r"\[-1\]"),
        ([[]], r"\[\]"), ([[rank] for rank in range(MAX_GUESSES + 1)], str(MAX_GUESSES)),
    ):  # fmt: skip
        with pytest.raises(BadSettings, match=named):
            chosen_paths(choosing(*paths))


def test_rank_paths_below_an_end_token_or_a_missing_rank_are_omitted():
    tree, kept = tree_of_ranks(9, all_paths(TREE, 2), [[5, 0], [6, 7]], eos=(0,))
    assert kept == [(0,), (1,), (0, 0), (0, 1)]
    assert tree.tokens == (9, 5, 0, 6, 7)
    assert tree.parents == (-1, 0, 0, 1, 1)


@pytest.mark.parametrize("file", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
@pytest.mark.parametrize("own", [True, False])
def test_both_layouts_load_from_both_file_formats(tmp_path, file, own):
    """As for vicuna-7b-v1.3, the config says 2 heads and the file has 4."""
    tensors = {k: v.contiguous() for k, v in headed.heads("medusa").state_dict().items()}
    if own:  # FasterDecoding's layout, each head with a copy of the projection
        copy = headed.target().model.lm_head.weight
        tensors |= {f"{i}.1.weight": copy.clone() for i in range(4)}
    (torch.save if file.endswith(".pt") else save_file)(tensors, tmp_path / file)
    said = {"medusa_num_heads": 2, "medusa_num_layers": 1, "transformers_version": "4.31"}
    (tmp_path / "config.json").write_text(json.dumps(said))
    heads = MedusaHeads.load(tmp_path, headed.target())
    assert len(heads) == 4
    assert heads.own_projection is own
    assert proposed(TREE, heads).tree == proposed(TREE).tree


def test_tensor_names_number_the_blocks_of_a_head(tmp_path):
    heads = MedusaHeads(MedusaConfig(2, 2), 48, 280)
    names = {"0.0.linear.weight", "0.1.linear.weight", "0.2.weight", "1.2.weight"}
    assert names <= set(heads.state_dict())
    heads.save(tmp_path)
    assert MedusaHeads.load(tmp_path, headed.target()).own_projection


def test_untrained_head_repeats_the_prediction_of_the_target():
    head = MedusaHeads.new(MedusaConfig(), headed.target().model)
    states, project = final_states(), headed.target().model.lm_head
    assert torch.equal(head(states, project)[2], project(states))


# Blockwise parallel decoding


def test_drafted_block_is_a_chain_of_each_heads_top_token():
    states = final_states()
    proposal = proposed(replace(TREE, gamma=8), name="blockwise")
    with torch.inference_mode():
        logits = headed.heads("blockwise")(states[-2], headed.target().model.lm_head)
    assert proposal.tree.is_chain
    assert list(proposal.tree.tokens[1:]) == logits.argmax(-1).tolist()
    assert proposal.evidence[0] == {"form": "heads", "block": 4}
    assert proposal.evidence[2] == {"head": 2, "state": len(ids()) - 2, "path": [0, 0]}


def test_layer_output_equals_the_formula_of_the_paper():
    """Every output depends on all hidden units and has its own residual connection."""
    torch.manual_seed(1)
    head = BlockwiseHeads(BlockwiseConfig(block_size=3, filter_size=5), 4)
    torch.nn.init.normal_(head.conv2.weight)
    torch.nn.init.normal_(head.conv2.bias)
    x = torch.randn(7, 4)
    hidden = torch.relu(x @ head.conv1.weight.T + head.conv1.bias)
    assert hidden.shape == (7, 10)
    out = hidden @ head.conv2.weight.T + head.conv2.bias
    expected = torch.stack([x + out[:, :4], x + out[:, 4:]])
    assert torch.allclose(head(x, lambda states: states), expected, atol=1e-6)
    assert torch.allclose(head(x, lambda states: states, 1), expected[:1], atol=1e-6)


# L-MTP


def test_earlier_hidden_states_provide_the_positions_that_heads_skip():
    """Head m reads the state at n - 1 - b and guesses position n - 1 - b + k m + 1 = n + j."""
    for leap, sources in (
        (1, [(1, 0), (2, 0), (3, 0)]),  # Medusa's
        (2, [(1, 1), (1, 0), (2, 1), (2, 0), (3, 1), (3, 0)]),
        (3, [(1, 2), (1, 1), (1, 0), (2, 2), (2, 1), (2, 0)]),
    ):
        assert [source(j, leap) for j in range(1, len(sources) + 1)] == sources
        for j, (m, back) in enumerate(sources, 1):
            assert -1 - back + leap * m + 1 == j


@pytest.mark.parametrize("leap", [1, 2, 3])
def test_guesses_equal_the_output_of_the_head_and_state_in_evidence(leap):
    heads = headed.trained("lmtp", replace(headed.CONFIGS["lmtp"], skip_token=leap), steps=2)
    text, final, project = ids(), final_states(), headed.target().model.lm_head
    proposal = proposed(replace(GREEDY, gamma=6), heads, "lmtp")
    assert len(proposal.tree) - 1 == min(6, 3 * leap)
    for node in range(1, len(proposal.tree)):
        why = proposal.evidence[node]
        assert why["state"] == len(text) - 2 - why["back"]
        with torch.inference_mode():
            logits = heads(final[why["state"]], project)[why["head"] - 1]
        assert proposal.tree.tokens[node] == int(logits.argmax())
        assert why["state"] + leap * why["head"] + 1 == len(text) - 1 + node


@pytest.mark.parametrize("own", [True, False])
def test_heads_load_with_or_without_their_own_output_projections(tmp_path, own):
    made = LeapHeads(LeapConfig(), 48, 280 if own else None)
    assert "heads.0.resblock.0.l_proj.weight" in made.state_dict()
    assert ("heads.2.lm_head.weight" in made.state_dict()) is own
    made.save(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "heads.safetensors")
    loaded = LeapHeads.load(tmp_path, headed.target())
    assert loaded.own_projection is own
    assert len(loaded.heads) == 3
