"""EAGLE's head: its layer, loss and files."""

from __future__ import annotations

import circle
import pytest
import tiny
import torch
from driven import deep_target, drafter, plain_logits, random_head
from safetensors.torch import load_file, save_file
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from specviz.drafters.common.layers import causal
from specviz.drafters.common.training import read_target_outputs
from specviz.drafters.eagle import Eagle, Eagle2
from specviz.drafters.eagle import head as training
from specviz.drafters.eagle.head import EagleConfig, EagleHead
from specviz.models.errors import NotAvailable, Unsuitable
from specviz.settings.settings import Settings


def test_loss_and_session_read_the_same_hidden_states():
    target = deep_target()
    head = random_head(target)
    ids = torch.randint(1, tiny.VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(1))
    outputs = read_target_outputs(target.model, ids)
    for depth, guessed in enumerate(training.guesses(head, outputs, 3), start=1):
        for row in (0, 3, 8 - depth):
            text, path = ids[1, : row + 2].tolist(), ids[1, row + 2 : row + 1 + depth].tolist()
            states = outputs.final[1, : row + 1]
            logits = plain_logits(head, states, target.model.lm_head, target, text, path)
            assert torch.allclose(guessed[1, row], logits, atol=1e-3)


def test_loss_of_a_perfect_head_is_the_entropy_of_the_target():
    """On a text of consecutive tokens, the exact head predicts the target's next features."""
    counts = circle.target(0.2)
    outputs = read_target_outputs(counts.model, (torch.arange(12) + 40)[None])
    entropy = torch.distributions.Categorical(logits=outputs.logits[:, 1:]).entropy().mean()
    value = training.loss(circle.eagle_head(counts), outputs)
    assert value.item() == pytest.approx(0.1 * entropy.item(), abs=1e-5)
    jumps = read_target_outputs(
        counts.model, torch.tensor([[40, 90, 10, 200, 60]])
    )  # no guess can be correct
    feature, law = [], []
    for row in range(4):
        guess = circle.places()[jumps.tokens[0, row] + 1]
        far = (guess - jumps.final[0, row + 1]).abs()
        feature.append(torch.where(far < 1, far.square() / 2, far - 0.5).mean().item())
        said = (counts.model.lm_head.weight @ guess).log_softmax(-1)
        law.append(-(jumps.logits[0, row + 1].softmax(-1) * said).sum().item())
    value = training.loss(circle.eagle_head(counts), jumps).item()
    assert value == pytest.approx(sum(feature) / 4 + 0.1 * sum(law) / 4, abs=1e-4)


@pytest.mark.slow
def test_training_updates_head_but_not_target():
    target = deep_target()
    head = random_head(target).train().requires_grad_(True)
    ids = torch.randint(1, tiny.VOCABULARY, (4, 16), generator=torch.Generator().manual_seed(1))
    outputs = read_target_outputs(target.model, ids)
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)
    values = []
    for _ in range(30):
        value = training.loss(head, outputs)
        value.backward()
        assert all(weight.grad.abs().sum() > 0 for weight in head.parameters())
        optimizer.step()
        optimizer.zero_grad()
        values.append(value.item())
    assert values[-1] < 0.7 * values[0]
    assert all(weight.grad is None for weight in target.model.parameters())


@pytest.mark.slow
def test_layer_equals_the_transformers_layer_without_its_first_norm():
    """fc takes the embedding first; rotary angles, shared heads and the MLP are Llama's."""
    target = deep_target()
    head = random_head(target)
    config = target.model.config
    layer = LlamaDecoderLayer(config, 0).eval()
    layer.input_layernorm = torch.nn.Identity()
    layer.load_state_dict(head.layers[0].state_dict())
    words, features, positions = torch.randn(1, 7, 48), torch.randn(1, 7, 48), torch.arange(7)
    rotary = target.model.model.rotary_emb(words, position_ids=positions[None])
    with torch.inference_mode():
        rows = torch.cat([words, features], dim=-1) @ head.fc.weight.T + head.fc.bias
        later = torch.full((7, 7), -torch.inf).triu(1)[None, None]
        wanted = layer(rows, attention_mask=later, position_embeddings=rotary)
        assert torch.allclose(head(features, words, positions, causal), wanted, atol=1e-5)


NAMES = {
    "fc.weight", "fc.bias", "layers.0.self_attn.q_proj.weight", "layers.0.self_attn.k_proj.weight",
    "layers.0.self_attn.v_proj.weight", "layers.0.self_attn.o_proj.weight",
    "layers.0.mlp.gate_proj.weight", "layers.0.mlp.up_proj.weight", "layers.0.mlp.down_proj.weight",
    "layers.0.post_attention_layernorm.weight",
}  # fmt: skip


def test_saved_head_has_the_published_tensor_names_and_loads(tmp_path):
    target = deep_target()
    head = random_head(target)
    head.save(tmp_path)
    assert set(load_file(tmp_path / "model.safetensors")) == NAMES
    made = Eagle.load("my-eagle", tmp_path, target)
    for key_, weight in head.state_dict().items():
        assert torch.equal(made.head.state_dict()[key_], weight.bfloat16().float())
    assert made.head.config == head.config
    assert (made.card.name, made.card.family) == ("my-eagle", "eagle")
    assert made.card.parameters == sum(w.numel() for w in head.parameters())
    assert made.card.bytes > 2 * made.card.parameters
    assert Eagle2.load("two", tmp_path, target).card.hash == made.card.hash


def test_head_uses_its_own_embedding_or_else_that_of_the_target(tmp_path):
    target = deep_target()
    head = EagleHead(EagleConfig.like(target), own_embedding=True)
    head.save(tmp_path)
    assert set(load_file(tmp_path / "model.safetensors")) == NAMES | {"embed_tokens.weight"}
    made = Eagle.load("x", tmp_path, target)
    reader = made.begin(target.start(made.capture), Settings()).reader
    assert reader.embed is made.head.embed_tokens
    reader = drafter(target).begin(target.start(made.capture), Settings()).reader
    assert reader.embed is target.model.get_input_embeddings()


def test_pickled_weights_load(tmp_path):
    target = deep_target()
    head = random_head(target)
    head.save(tmp_path)
    torch.save(head.half().state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    assert EagleHead.load(tmp_path, target).fc.weight.dtype is torch.float32


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.pop("fc.bias"), "lacks tensor: fc.bias"),
        (lambda t: t.update({"lm_head.weight": torch.ones(2)}), "unexpected tensor: lm_head"),
        (lambda t: t.update({"fc.bias": torch.ones(2)}), r"fc.bias is \(2,\).*says \(48,\)"),
    ],
)
def test_error_names_the_tensor_that_does_not_fit(tmp_path, change, sentence):
    target = deep_target()
    random_head(target).save(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    change(tensors)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(Unsuitable, match=sentence):
        EagleHead.load(tmp_path, target)


def test_head_for_other_target_or_variant_is_refused(tmp_path):
    target = deep_target()
    with pytest.raises(NotAvailable):
        EagleHead.load(tmp_path, target)
    random_head(target).save(tmp_path)
    wide = tiny.target(tiny.llama(hidden_size=64))
    with pytest.raises(Unsuitable, match="width 48"):
        EagleHead.load(tmp_path, wide)
    with pytest.raises(Unsuitable, match="width 48"):
        drafter(target).begin(wide.start(Eagle.capture), Settings())
    public = {
        "hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4, "vocab_size": 280,
        "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_act": "silu",
    }  # fmt: skip
    config = EagleConfig.from_json("x", public)
    assert (config.bias, config.head_dim, config.num_key_value_heads) == (True, 12, 4)
    assert (config.rope_theta, config.made_for) == (10_000.0, None)
    for wrong in (
        {"num_hidden_layers": 2},
        {"hidden_act": "gelu"},
        {"rope_scaling": {"rope_type": "dynamic", "factor": 8.0}},
        {"hidden_size": None},
    ):
        with pytest.raises(Unsuitable):
            EagleConfig.from_json("x", public | wrong)
