"""The memory of a drafter's tensors, without those of the target."""

import circle
import pytest
import tiny
import torch
from torch import nn

from specviz import engine
from specviz.adapters.torch import ONEDNN
from specviz.drafters.layerskip import LayerSkip
from specviz.drafters.ngram import NGram
from specviz.drafters.oracle import Oracle
from specviz.engine.loop import Decoding
from specviz.models.memory import unique_bytes
from specviz.models.products import DEFAULT_PLAN, Backend, Plan, Product, can_pack
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Finished

GREEDY = Settings(Sampling(temperature=0), gamma=3, max_new_tokens=12)


def decoded(target, drafter, settings=GREEDY):
    decoding = Decoding(target, drafter, target.encode(tiny.PROMPT, 12), settings)
    for _ in decoding.rounds():
        pass
    return decoding


def weights(model):
    """Return the bytes of a model's parameters and buffers; tied ones count once."""
    return sum(each.nbytes for each in [*model.parameters(), *model.buffers()])


def buffer_bytes(*layers):
    """Return the bytes of a cache's layers, including their spare rows."""
    return sum(half.nbytes for layer in layers for half in layer.buffer)


def test_memory_is_that_of_a_drafters_own_tensors_and_its_cache(tiny_target, tiny_draft):
    decoding = decoded(tiny_target, tiny_draft)
    layers = decoding.session.reader.cache.layers
    assert buffer_bytes(*layers) > sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)
    assert decoding.held_bytes == weights(tiny_draft.model) + buffer_bytes(*layers)
    alone = decoded(tiny_target, Oracle(tiny_target))  # a draft model that is the target
    assert alone.held_bytes == buffer_bytes(*alone.session.reader.cache.layers) > 0
    drafter = NGram()
    assert decoded(tiny_target, drafter).held_bytes == 0
    drafter.table = torch.ones(10)  # which its session does not hold
    assert decoded(tiny_target, drafter).held_bytes == 40


@pytest.mark.slow
def test_memory_of_eagle_excludes_weights_shared_with_the_target():
    """Its session uses the target's embeddings and output head."""
    target = circle.target()
    drafter = circle.drafters(target)["eagle"]
    decoding = decoded(target, drafter)
    reader = decoding.session.reader
    borrowed = target.model.get_output_embeddings().weight.nbytes
    assert reader.embed is target.model.get_input_embeddings()
    states = decoding.held_bytes - weights(drafter.head) - buffer_bytes(reader.layers._cache.cached)
    assert 0 < states < borrowed, "includes the states stored for the next round"
    assert unique_bytes([decoding.session], excluding=[]) > 2 * borrowed


@pytest.mark.slow
def test_memory_of_early_exit_is_only_the_last_states():
    target = tiny.target(tiny.llama(num_hidden_layers=4))
    settings = Settings(Sampling(temperature=0), gamma=3, max_new_tokens=12, exit_layer=2)
    found = decoded(target, LayerSkip(target), settings).held_bytes
    a_row = target.layers * target.model.config.hidden_size * 4
    assert 0 < found <= (1 + settings.gamma) * a_row


@pytest.mark.skipif(not can_pack(), reason="this build of torch has no oneDNN")
def test_packed_weight_is_counted_with_its_packed_size():
    layer = nn.Linear(37, 65).eval().requires_grad_(False)
    usual = Product(layer.weight, layer.bias, DEFAULT_PLAN)
    assert unique_bytes([usual], excluding=[]) == 4 * (37 * 65 + 65)
    packed = Product(layer.weight, layer.bias, Plan(False, *[Backend.ONEDNN] * 4))
    copy = unique_bytes([packed], excluding=[layer])
    assert copy == ONEDNN._nbytes(packed.packed) >= layer.weight.nbytes
    assert unique_bytes([packed], excluding=[packed]) == 0


class Slotted:
    __slots__ = ("kept",)

    def __init__(self, kept):
        self.kept = kept


def circular(block):
    """An object that refers to itself."""
    made = [block]
    made.append(made)
    return made


WAYS = {
    "a list": lambda block: [1, "a", (block,)],
    "a dictionary": lambda block: {"a": {"b": block}},
    "slots": Slotted,
    "a function's own": lambda block: lambda: block,
    "a bound method": lambda block: Slotted(block).__init__,
    "a module": lambda block: nn.ParameterDict({"a": nn.Parameter(block)}),
    "twice": lambda block: [block, block],
    "views": lambda block: (block[2:], block.view(2, 5)),
    "round a circle": circular,
    "a sparse tensor": lambda block: block.to_sparse(),
}


def test_tensor_in_any_container_is_counted_once():
    for way, make in WAYS.items():
        found = make(torch.ones(10))
        places = 80 if way == "a sparse tensor" else 0
        assert unique_bytes([found], excluding=[]) == 40 + places, way
        assert unique_bytes([found], excluding=[found]) == 0, way
    both, mine = torch.ones(10), torch.ones(7)
    assert unique_bytes([{"a": both[3:], "b": mine}], excluding=[both]) == 28, "the unshared part"


@pytest.mark.slow
def test_finished_event_records_the_memory_of_the_drafter(tiny_target, tiny_draft):
    events = engine.run(tiny_target, tiny_draft, tiny.PROMPT, GREEDY, baseline=False)
    ended = [event for event in events if isinstance(event, Finished)]
    assert [each.held_bytes for each in ended] == [decoded(tiny_target, tiny_draft).held_bytes]
