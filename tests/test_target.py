"""The target: a tree scored in one pass equals single paths; a kept path equals its text."""

from __future__ import annotations

import pytest
import tiny
import torch
from hypothesis import given, settings
from test_tree import trees
from transformers import DynamicCache

from specviz.models.attention import SPARE_ROWS, PreallocatedCache, PreallocatedLayer
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
    with pytest.raises(UnicodeDecodeError):
        [tiny_target.token_bytes(token).decode() for token in ids]
    assert tiny_target.token_bytes(0) == b"<|endoftext|>"
    assert tiny_target.token_bytes(10**6) == b"<1000000>"


# The preallocated cache: the rows of transformers' growing cache, written in place.


def rows(many, seed):
    """Return keys and values of `many` rows: (1, 2, many, 3) each."""
    torch.manual_seed(seed)
    return torch.randn(1, 2, many, 3), torch.randn(1, 2, many, 3)


def both(cache):
    """Return a copy of each layer's keys and values."""
    return [(layer.keys.clone(), layer.values.clone()) for layer in cache.layers]


def test_preallocated_cache_holds_the_same_rows_as_transformers_cache():
    ours, theirs = PreallocatedCache(), DynamicCache()
    for turn, many in enumerate([5, 1, 7, SPARE_ROWS, 1, 2 * SPARE_ROWS, 3]):
        for layer in range(2):
            found = ours.update(*rows(many, 10 * turn + layer), layer)
            wanted = theirs.update(*rows(many, 10 * turn + layer), layer)
            assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
        if turn % 2:
            ours.cut(ours.get_seq_length() - 2)
            theirs.crop(-2)
        assert ours.get_seq_length() == theirs.get_seq_length()
        pairs = zip(sum(both(ours), ()), sum(both(theirs), ()), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("kept", [[], [4], [4, 5, 6], [5], [6, 9], [4, 7, 8], [7, 8, 9], [5, 7, 9]])
def test_keep_moves_rows_of_the_accepted_path_behind_rows_of_the_text(kept):
    cache = PreallocatedCache()
    cache.keep(0, [])  # an empty cache stays empty
    cache.cut(0)
    assert cache.get_seq_length() == 0
    for layer in range(2):
        cache.update(*rows(10, layer), layer)
    before = both(cache)
    cache.keep(4, kept)
    index = [0, 1, 2, 3, *kept]
    for layer, (keys, values) in zip(cache.layers, before, strict=True):
        assert torch.equal(layer.keys, keys[:, :, index])
        assert torch.equal(layer.values, values[:, :, index])
    cache.update(*rows(2, 7), 0)
    assert torch.equal(cache.layers[0].keys[:, :, len(index) :], rows(2, 7)[0])


def test_cache_writes_rows_in_place_until_its_buffer_is_full():
    layer = PreallocatedLayer()
    layer.update(*rows(10, 1))
    place = layer.keys.data_ptr()
    for turn in range(SPARE_ROWS):
        layer.update(*rows(1, turn))
        assert layer.keys.data_ptr() == place
    layer.keep(3, torch.tensor([5, 8]))
    layer.cut(4)
    assert layer.keys.data_ptr() == layer.buffer[0].data_ptr() == place
    layer.update(*rows(2 * SPARE_ROWS, 2))
    assert layer.keys.data_ptr() != place, "the buffer must grow when it is full"


def test_cache_appends_to_keys_that_other_code_replaced():
    layer = PreallocatedLayer()
    layer.update(*rows(6, 1))
    other = rows(4, 2)
    layer.keys, layer.values = other
    keys, values = layer.update(*rows(2, 3))
    assert torch.equal(keys, torch.cat([other[0], rows(2, 3)[0]], dim=2))
    assert torch.equal(values, torch.cat([other[1], rows(2, 3)[1]], dim=2))
    assert torch.equal(other[0], rows(4, 2)[0]), "the replaced keys must not change"


def test_captured_keys_and_values_are_unchanged_by_later_passes(tiny_target):
    run = tiny_target.start(CaptureSpec(keys_values=(1, 2)))
    run.prefill(tiny_target.encode(tiny.PROMPT, 8))
    states = run.score(DraftTree((3, 5, 7), (-1, 0, 0))).states.keys_values
    before = {k: (keys.clone(), values.clone()) for k, (keys, values) in states.items()}
    run.keep([0, 2])
    run.score(DraftTree((9, 11), (-1, 0)))
    for k, (keys, values) in states.items():
        assert torch.equal(keys, before[k][0])
        assert torch.equal(values, before[k][1])
