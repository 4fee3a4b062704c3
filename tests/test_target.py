"""The target: a tree scored in one pass equals single paths; a kept path equals its text."""

from __future__ import annotations

import pytest
import tiny
import torch
from hypothesis import given, settings
from test_tree import trees

from specviz.models.errors import BadPrompt
from specviz.models.passes import CaptureSpec, ExtraRows, PrecomputedPrefix, UnsupportedModel
from specviz.verification.tree import DraftTree

PROMPT = [3, 5, 7, 9]


def alone(target, tokens):
    """Return logits after `tokens`, by the model's own plain forward."""
    with torch.inference_mode():
        return target.model(torch.tensor([tokens])).logits[0, -1]


@pytest.mark.parametrize("make", [tiny.llama, tiny.gpt2, tiny.neox])
def test_tree_scores_equal_scores_of_single_paths(make):
    target = tiny.target(make())
    run = target.start(CaptureSpec())
    run.prefill(PROMPT)
    tree = DraftTree((11, 12, 13, 14, 15, 16), (-1, 0, 0, 1, 2, 3))
    logits = run.score(tree).logits
    for node in range(len(tree)):
        path = [tree.tokens[n] for n in tree.path(node)]
        assert torch.allclose(logits[node], alone(target, [*PROMPT, *path]), atol=2e-4)


@pytest.mark.slow
@given(trees())
@settings(max_examples=25, deadline=None)
def test_cache_after_keep_equals_cache_of_the_text(tiny_target, tree):
    run = tiny_target.start(CaptureSpec())
    run.prefill(PROMPT)
    run.score(tree)
    leaf = max(range(len(tree)), key=lambda node: tree.depths[node])
    run.keep(tree.path(leaf))
    kept = [tree.tokens[n] for n in tree.path(leaf)]
    after = run.score(DraftTree((42,), (-1,))).logits[0]
    assert torch.allclose(after, alone(tiny_target, [*PROMPT, *kept, 42]), atol=2e-4)


def test_extra_rows_are_scored_in_the_same_pass_and_not_cached(tiny_target):
    run = tiny_target.start(CaptureSpec())
    run.prefill(PROMPT)
    sees = torch.tensor([[True, False, True, False], [True, False, True, True]])
    scores = run.score(DraftTree.chain(11, [12]), ExtraRows((21, 22), (1, 2), sees))
    assert scores.logits.shape[0] == 2
    expected = alone(tiny_target, [*PROMPT, 11, 21, 22])
    assert torch.allclose(scores.extra_rows.logits[1], expected, atol=2e-4)
    run.keep((0,))
    after = run.score(DraftTree((42,), (-1,))).logits[0]
    assert torch.allclose(after, alone(tiny_target, [*PROMPT, 11, 42]), atol=2e-4)


@pytest.mark.parametrize("warmed", [1, 2, 4])
def test_scoring_continues_from_precomputed_layers(tiny_target, warmed):
    tree = DraftTree((11, 12, 13, 14), (-1, 0, 0, 1))
    plain = tiny_target.start(CaptureSpec())
    plain.prefill(PROMPT)
    run = tiny_target.start(CaptureSpec())
    run.prefill(PROMPT)
    early = run.shallow(
        tree.tokens[:warmed], tree.depths[:warmed], tree.mask()[:warmed, :warmed], 1
    )
    warm = run.score(tree, precomputed=PrecomputedPrefix(1, early))
    assert torch.allclose(warm.logits, plain.score(tree).logits, atol=2e-4)
    run.keep((0, 1, 3))
    after = run.score(DraftTree((42,), (-1,))).logits[0]
    assert torch.allclose(after, alone(tiny_target, [*PROMPT, 11, 12, 14, 42]), atol=2e-4)


def test_only_requested_hidden_states_are_captured(tiny_target):
    layers = tiny_target.model.model.layers
    hooks = [len(layer._forward_hooks) for layer in layers]
    run = tiny_target.start(CaptureSpec(layers=(1, 2), final=True, keys_values=(2,)))
    states = run.prefill(PROMPT).states
    assert [len(layer._forward_hooks) for layer in layers] == hooks
    with torch.inference_mode():
        whole = tiny_target.model(torch.tensor([PROMPT]), output_hidden_states=True)
    assert torch.allclose(states.layers[1], whole.hidden_states[1][0], atol=1e-5)
    assert torch.allclose(states.final, whole.hidden_states[2][0], atol=1e-5)  # post-norm
    normed = tiny_target.model.model.norm(states.layers[2])
    assert torch.allclose(normed, states.final, atol=1e-5)
    keys, values = states.keys_values[2]
    assert keys.shape == values.shape == (4, 2, 12)
    assert torch.equal(states.take([2]).layers[1], states.layers[1][[2]])
    bare = tiny_target.start(CaptureSpec()).prefill(PROMPT).states
    assert (bare.layers, bare.final, bare.keys_values) == ({}, None, {})


def test_early_exit_of_an_unknown_architecture_raises_readable_error():
    run = tiny.target(tiny.gpt2()).start(CaptureSpec())
    with pytest.raises(UnsupportedModel, match="Llama-like"):
        run.shallow([1], [0], torch.ones(1, 1).bool(), 1)


def test_invalid_prompts_raise_readable_error(tiny_target):
    ids = tiny_target.encode(tiny.PROMPT, 10)
    room = tiny.POSITIONS - len(ids)
    tiny_target.encode(tiny.PROMPT, room)
    for prompt, new, says in (
        ("", 4, "empty"), (" \n", 4, "empty"), ("cat " * 400, 4, "Shorten"),
        (tiny.PROMPT, room + 1, "more than the 256"),
    ):  # fmt: skip
        with pytest.raises(BadPrompt, match=says):
            tiny_target.encode(prompt, new)


def test_token_bytes_keep_incomplete_characters(tiny_target):
    ids = tiny_target.tokenizer("ü 🦊 cat").input_ids
    assert b"".join(map(tiny_target.token_bytes, ids)).decode() == "ü 🦊 cat"
    assert any(not _whole(tiny_target.token_bytes(i)) for i in ids)
    assert tiny_target.token_bytes(0) == b"<|endoftext|>"
    assert tiny_target.token_bytes(10**6) == b"<1000000>"


def _whole(word):
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True
