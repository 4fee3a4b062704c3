"""The preallocated cache: the same rows as transformers' growing cache, written in place."""

import pytest
import tiny
import torch
from transformers import DynamicCache

from specviz.models.attention import SPARE_ROWS, PreallocatedCache, PreallocatedLayer
from specviz.models.passes import CaptureSpec
from specviz.verification.tree import DraftTree


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
