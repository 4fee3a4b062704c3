"""A prompt unlike House's training text is reported; shipped prompts are not."""

import pytest
import torch

from specviz.catalog.loading import load_target
from specviz.models.prompt import bits_per_token
from specviz.shipped import prompts
from specviz.ui.step.choices import USUAL_BITS, hint

STRANGE = [
    "What is the capital of France?",
    "Explain quantum computing in simple terms.",
    "Es war einmal ein kleines Mädchen",
]
USUAL_ONES = [text for texts in prompts().values() for text in texts]


def test_bits_per_token_is_the_mean_of_negative_log2_p(tiny_target):
    ids = tiny_target.encode("The cat sat", 0)
    with torch.inference_mode():
        law = tiny_target.model(torch.tensor([ids])).logits[0].double().softmax(-1)
    bits = [-law[place, token].log2().item() for place, token in enumerate(ids[1:])]
    assert bits_per_token(tiny_target, ids) == pytest.approx(sum(bits) / len(bits), abs=1e-4)
    assert bits_per_token(tiny_target, ids[:1]) is None


@pytest.mark.slow
def test_only_prompts_unlike_the_training_text_are_reported_with_their_number():
    house = load_target("house")
    bits = [bits_per_token(house, house.encode(text, 0)) for text in USUAL_ONES]
    assert USUAL_BITS - 0.1 < max(bits) <= USUAL_BITS
    assert not hint(house, USUAL_ONES[bits.index(max(bits))])
    for prompt in STRANGE:
        number = bits_per_token(house, house.encode(prompt, 0))
        assert f"{number:.1f} bits per token" in hint(house, prompt)
