"""What a drafter holds in memory: read from its tensors, without what is the target's."""

import circle
import pytest
import tiny
import torch
from test_layerskip import deep
from torch import nn

from specviz import engine
from specviz.adapters.torch import ONEDNN
from specviz.drafters.layerskip.drafter import LayerSkip
from specviz.drafters.ngram import NGram
from specviz.drafters.oracle import Oracle
from specviz.engine.loop import Decoding
from specviz.models.cache import ROOM, RoomyLayer
from specviz.models.memory import held
from specviz.models.products import USUAL, Plan, Product, Way, can_pack
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Finished

GREEDY = Settings(Sampling(temperature=0), gamma=3, max_new_tokens=12)


def decoded(target, drafter, settings=GREEDY):
    """A run at its end."""
    decoding = Decoding(target, drafter, target.encode(tiny.PROMPT, 12), settings)
    for _ in decoding.rounds():
        pass
    return decoding


def weights(model):
    """Bytes of a model's own parameters and buffers; tied ones are one parameter."""
    return sum(each.nbytes for each in [*model.parameters(), *model.buffers()])


def room(*layers):
    """Bytes of a cache's layers, the room behind their rows included."""
    return sum(half.nbytes for layer in layers for half in layer.room)


def test_a_draft_model_is_its_parameters_and_its_cache(tiny_target, tiny_draft):
    decoding = decoded(tiny_target, tiny_draft)
    layers = decoding.session.reader.cache.layers
    assert room(*layers) > sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)
    assert decoding.held_bytes == weights(tiny_draft.model) + room(*layers)


def test_a_draft_model_that_is_the_target_has_a_cache_alone(tiny_target):
    decoding = decoded(tiny_target, Oracle(tiny_target))
    assert decoding.held_bytes == room(*decoding.session.reader.cache.layers) > 0


def test_what_a_drafter_keeps_and_its_session_does_not_know_of_counts_too(tiny_target):
    drafter = NGram()
    drafter.table = torch.ones(10)
    assert decoded(tiny_target, drafter).held_bytes == 40


def test_what_eagle_borrows_of_the_target_is_the_targets():
    """Its session looks words up in the target's table, and ends in the target's head."""
    target = circle.target()
    drafter = circle.drafters(target)["eagle"]
    decoding = decoded(target, drafter)
    reader = decoding.session.reader
    borrowed = target.model.get_output_embeddings().weight.nbytes
    assert reader.embed is target.model.get_input_embeddings()
    states = decoding.held_bytes - weights(drafter.head) - room(reader.layers._cache.cached)
    assert 0 < states < borrowed, "states that wait for the next round"
    assert held([decoding.session], beyond=[]) > 2 * borrowed


def test_lookup_holds_nothing_and_early_exit_the_last_states(tiny_target):
    assert decoded(tiny_target, NGram()).held_bytes == 0
    target = tiny.target(deep())
    settings = Settings(Sampling(temperature=0), gamma=3, max_new_tokens=12, exit_layer=2)
    found = decoded(target, LayerSkip(target), settings).held_bytes
    a_row = target.layers * target.model.config.hidden_size * 4
    assert 0 < found <= (1 + settings.gamma) * a_row


@pytest.mark.skipif(not can_pack(), reason="this build of torch has no oneDNN")
def test_a_packed_copy_is_counted_as_large_as_it_is():
    layer = nn.Linear(37, 65).eval().requires_grad_(False)
    usual = Product(layer.weight, layer.bias, USUAL)
    assert held([usual], beyond=[]) == 4 * (37 * 65 + 65)
    packed = Product(layer.weight, layer.bias, Plan(False, Way.ONEDNN, Way.ONEDNN, Way.ONEDNN))
    copy = held([packed], beyond=[layer])
    assert copy == ONEDNN._nbytes(packed.packed) >= layer.weight.nbytes
    assert held([packed], beyond=[packed]) == 0


def test_a_cache_counts_with_its_room():
    layer = RoomyLayer()
    layer.update(torch.ones(1, 2, 5, 3), torch.ones(1, 2, 5, 3))
    assert held([layer], beyond=[]) == 2 * 4 * (2 * (5 + ROOM) * 3)


class Slotted:
    """Keeps a tensor where no dictionary has it."""

    __slots__ = ("kept",)

    def __init__(self, kept):
        self.kept = kept


def inside(block):
    """Says nothing, and keeps the block."""
    return lambda: block


def circular(block):
    """Something that leads back to itself."""
    made = [block]
    made.append(made)
    return made


WAYS = {
    "a list": lambda block: [1, "a", (block,)],
    "a dictionary": lambda block: {"a": {"b": block}},
    "slots": Slotted,
    "a function's own": inside,
    "a bound method": lambda block: Slotted(block).__init__,
    "a module": lambda block: nn.ParameterDict({"a": nn.Parameter(block)}),
    "twice": lambda block: [block, block],
    "views": lambda block: (block[2:], block.view(2, 5)),
    "round a circle": circular,
    "a sparse tensor": lambda block: block.to_sparse(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_tensor_is_found_wherever_it_is_kept_and_counts_once(way):
    found = WAYS[way](torch.ones(10))
    places = 80 if way == "a sparse tensor" else 0
    assert held([found], beyond=[]) == 40 + places
    assert held([found], beyond=[found]) == 0


def test_what_is_shared_in_part_counts_in_part():
    both, mine = torch.ones(10), torch.ones(7)
    assert held([{"a": both[3:], "b": mine}], beyond=[both]) == 28


def test_a_run_says_it_at_its_end(tiny_target, tiny_draft):
    events = engine.run(tiny_target, tiny_draft, tiny.PROMPT, GREEDY, baseline=False)
    ended = [event for event in events if isinstance(event, Finished)]
    assert [each.held_bytes for each in ended] == [decoded(tiny_target, tiny_draft).held_bytes]
