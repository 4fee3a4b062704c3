"""Blockwise parallel decoding: one layer with k - 1 heads drafts a chain, one pass per round."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import torch

from specviz.drafters.blockwise import BlockwiseConfig, BlockwiseHeads
from specviz.engine.loop import rounds
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(0), gamma=8, max_new_tokens=30)


def test_drafted_block_is_a_chain_of_each_heads_top_token():
    text = headed.target().encode("The cat saw the", 9)
    session = headed.start_session("blockwise", text, replace(GREEDY, siblings=[3, 2]))
    proposal = session.propose(text, 9, Chance(1, 1))
    frozen = headed.read_target_outputs(headed.target().model, torch.tensor([text]))
    with torch.inference_mode():
        logits = headed.heads("blockwise")(frozen.final[0, -2], frozen.head)
    assert proposal.tree.is_chain
    assert list(proposal.tree.tokens[1:]) == logits.argmax(-1).tolist()
    assert proposal.evidence[0] == {"form": "heads", "block": 4}
    assert proposal.evidence[2] == {"head": 2, "state": len(text) - 2, "path": [0, 0]}


def test_round_needs_one_pass_and_adds_at_most_one_block():
    """The pass that verifies a block also computes the state that predicts the next block."""
    target, calls, lengths = headed.target(), [], []
    hook = target.model.register_forward_hook(lambda *_: calls.append(1))
    for turn in rounds(target, headed.drafter("blockwise"), [5, 6, 7], GREEDY):
        lengths.append(len(turn.tokens))
    hook.remove()
    assert len(calls) == len(lengths)
    assert max(lengths) == headed.CONFIGS["blockwise"].block_size


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
