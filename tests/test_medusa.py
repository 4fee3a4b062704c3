"""Medusa: trees of rank paths, both layouts of its heads, and errors in public files."""

from __future__ import annotations

import json
from dataclasses import replace

import headed
import pytest
import tiny
import torch
from safetensors.torch import save_file

from specviz.drafters.common.rank_paths import all_paths, chosen_paths, tree_of_ranks
from specviz.drafters.medusa import MedusaConfig, MedusaHeads
from specviz.models.errors import Unsuitable
from specviz.settings.chance import Chance
from specviz.settings.settings import MAX_GUESSES, BadSettings, Sampling, Settings, tree_size

GREEDY = Settings(Sampling(0), gamma=3)


def proposed(settings, head=None, text="The cat saw the", target=None):
    ids = headed.target().encode(text, 9)
    session = headed.start_session("medusa", ids, settings, head, target)
    return session.propose(ids, tiny.max_tokens(settings), Chance(1, 1))


def choosing(*paths, gamma=4):
    """Return settings with these rank paths."""
    return replace(GREEDY, gamma=gamma, rank_paths=[list(path) for path in paths])


@pytest.mark.parametrize("siblings", [[], [3], [3, 2], [1, 3], [2, 2, 2]])
def test_siblings_setting_gives_every_rank_path_within_its_widths(siblings):
    settings = replace(GREEDY, siblings=siblings)
    paths = all_paths(settings, 3)
    assert len(paths) == len(set(paths)) == tree_size(siblings, 3)
    assert paths == sorted(paths, key=lambda path: (len(path), path))
    assert all(rank < settings.width(d) for path in paths for d, rank in enumerate(path))


@pytest.mark.slow
def test_all_nodes_at_a_depth_have_the_same_candidates():
    tree = proposed(replace(GREEDY, siblings=[3, 2])).tree
    assert tree.parents == (-1, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9)
    for depth in range(3):
        offers = {
            tuple(tree.tokens[kid] for kid in tree.children[node])
            for node in range(len(tree))
            if tree.depths[node] == depth
        }
        assert len(offers) == 1
        (offer,) = offers
        assert len(set(offer)) == len(offer) == [3, 2, 1][depth]


def test_candidates_are_top_tokens_of_the_head_at_their_depth():
    ids = headed.target().encode("The cat saw the", 9)
    states = headed.read_target_outputs(headed.target().model, torch.tensor([ids])).final[0, -2]
    with torch.inference_mode():
        logits = headed.heads("medusa")(states, headed.target().model.lm_head)
    tree = proposed(replace(GREEDY, siblings=[3, 2])).tree
    assert list(tree.tokens[1:4]) == logits[0].topk(3).indices.tolist()
    assert list(tree.tokens[4:6]) == logits[1].topk(2).indices.tolist()
    assert tree.tokens[10] == int(logits[2].argmax())


def test_evidence_names_the_head_the_ranks_and_the_probability():
    proposal = proposed(replace(GREEDY, siblings=[3, 2]))
    assert proposal.evidence[0] == {"form": "heads", "heads": 4}
    newest = len(headed.target().encode("The cat saw the", 9)) - 1
    assert proposal.evidence[7] == {"head": 2, "state": newest - 1, "path": [1, 1]}
    assert proposal.score[1] > proposal.score[2] > proposal.score[3] > 0
    assert proposal.score[4] == proposal.score[6] == proposal.score[8]  # conditionally independent


def test_rank_paths_select_a_tree_like_medusa_choices():
    paths = [(0,), (0, 0), (1,), (0, 0, 1), (3,), (0, 2)]
    proposal = proposed(choosing(*paths))
    given = [tuple(proposal.evidence[node]["path"]) for node in range(1, len(proposal.tree))]
    assert given == [(0,), (1,), (3,), (0, 0), (0, 2), (0, 0, 1)]
    assert proposal.tree.parents == (-1, 0, 0, 0, 1, 1, 4)
    assert len(proposed(choosing(*paths, gamma=2)).tree) == 6
    assert len(proposed(choosing(*paths, gamma=1)).tree) == 4


@pytest.mark.parametrize(
    ("paths", "named"),
    [([[0, 1]], r"\[0, 1\]"), ([[0], [1, 0]], r"\[1, 0\]"), ([[-1]], r"\[-1\]"), ([[]], r"\[\]")],
)
def test_rank_path_without_its_parent_is_refused(paths, named):
    with pytest.raises(BadSettings, match=named):
        chosen_paths(choosing(*paths))
    with pytest.raises(BadSettings, match=str(MAX_GUESSES)):
        chosen_paths(choosing(*([rank] for rank in range(MAX_GUESSES + 1))))


def test_rank_paths_below_an_end_token_or_a_missing_rank_are_omitted():
    paths = all_paths(replace(GREEDY, siblings=[3, 2]), 2)
    tree, kept = tree_of_ranks(9, paths, [[5, 0], [6, 7]], eos=(0,))
    assert kept == [(0,), (1,), (0, 0), (0, 1)]
    assert tree.tokens == (9, 5, 0, 6, 7)
    assert tree.parents == (-1, 0, 0, 1, 1)


def test_draft_depth_is_limited_by_the_number_of_heads():
    tree = proposed(replace(GREEDY, gamma=9)).tree
    assert max(tree.depths) == headed.CONFIGS["medusa"].medusa_num_heads


def own_projections(tensors):
    """Return tensors in FasterDecoding's layout, each head with a copy of the projection."""
    copy = headed.target().model.lm_head.weight.clone()
    return tensors | {f"{i}.1.weight": copy.clone() for i in range(4)}


@pytest.mark.slow
@pytest.mark.parametrize("file", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
@pytest.mark.parametrize("own", [True, False])
def test_both_layouts_load_from_both_file_formats(tmp_path, file, own):
    """As for vicuna-7b-v1.3, the config says 2 heads and the file has 4."""
    tensors = {k: v.contiguous() for k, v in headed.heads("medusa").state_dict().items()}
    tensors = own_projections(tensors) if own else tensors
    if file.endswith(".pt"):
        torch.save(tensors, tmp_path / file)
    else:
        save_file(tensors, tmp_path / file)
    said = {"medusa_num_heads": 2, "medusa_num_layers": 1, "transformers_version": "4.31"}
    (tmp_path / "config.json").write_text(json.dumps(said))
    heads = MedusaHeads.load(tmp_path, headed.target())
    assert len(heads) == 4
    assert heads.own_projection is own
    settings = replace(GREEDY, siblings=[3, 2])
    assert proposed(settings, heads).tree == proposed(settings).tree


def test_tensor_names_number_the_blocks_of_a_head(tmp_path):
    heads = MedusaHeads(MedusaConfig(2, 2), 48, 280)
    names = {"0.0.linear.weight", "0.1.linear.weight", "0.2.weight", "1.2.weight"}
    assert names <= set(heads.state_dict())
    heads.save(tmp_path)
    assert MedusaHeads.load(tmp_path, headed.target()).own_projection


class Evil:
    def __reduce__(self):
        return (print, ("this must not run",))


def test_pickle_with_other_objects_is_refused(tmp_path, capsys):
    (tmp_path / "config.json").write_text("{}")
    torch.save({"0.0.linear.weight": Evil()}, tmp_path / "medusa_lm_head.pt")
    with pytest.raises(Unsuitable, match="more than plain weights"):
        MedusaHeads.load(tmp_path, headed.target())
    torch.save([1, 2], tmp_path / "medusa_lm_head.pt")
    with pytest.raises(Unsuitable, match="something other"):
        MedusaHeads.load(tmp_path, headed.target())
    assert not capsys.readouterr().out


@pytest.mark.parametrize("many", ["two", 0, None, True])
def test_invalid_config_is_refused(tmp_path, many):
    headed.heads("medusa").save(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"medusa_num_layers": many}))
    with pytest.raises(Unsuitable, match="medusa_num_layers"):
        MedusaHeads.load(tmp_path, headed.target())


def test_untrained_head_repeats_the_prediction_of_the_target():
    head = MedusaHeads.new(MedusaConfig(), headed.target().model)
    states = headed.outputs(0).final
    project = headed.target().model.lm_head
    assert torch.equal(head(states, project)[2], project(states))
