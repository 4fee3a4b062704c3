"""A DFlash drafter, trained for a few seconds on the tiny target.

The reference is transformers' DFlash network with the same weights.
"""

from __future__ import annotations

from dataclasses import replace

import headed
import tiny
import torch
from driven import session_after
from once import once
from transformers.models.muse_glimmer_assistant.configuration_muse_glimmer_assistant import (
    MuseGlimmerAssistantConfig,
)
from transformers.models.muse_glimmer_assistant.modeling_muse_glimmer_assistant import (
    MuseGlimmerAssistantModel,
)

from specviz.drafters.dflash import DFlash
from specviz.drafters.dflash import head as training
from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.head import DFlashHead

SIZE = 6  # positions of a block, including the anchor


def config(target=None, **changes):
    """Return the house config with smaller blocks, and two taps of a three-layer target."""
    usual = DFlashConfig.house(target or headed.target())
    taps = usual.target_layer_ids if target else (0, 1)
    return replace(usual, block_size=SIZE, target_layer_ids=taps, **changes)


def random_head(target=None, **changes):
    """Return a head with large random weights and norms, so that every part matters."""
    torch.manual_seed(8)
    head = DFlashHead(config(target, **changes)).eval().requires_grad_(False)
    for weight in head.parameters():
        if weight.dim() == 1:
            weight.copy_(torch.rand_like(weight) + 0.5)
    return tiny.blurred(head, 0.2)


def fitted(make, loss, steps):
    """Return the head that `make` returns, trained on blocks of twelve random anchors."""
    torch.manual_seed(3)
    return headed.fitted(
        make().train(),
        lambda head, outputs: loss(head, outputs, torch.randperm(39)[:12] + 1),
        steps,
    )


@once
def trained():
    """Return the head that most tests use."""
    return fitted(lambda: DFlashHead(config()), training.loss, 110)


def drafter(head=None):
    """Return the drafter with the learned head, or with the given one."""
    head = head or trained()
    return DFlash(head, tiny.card(head, "tiny-dflash", "dflash"))


def start_session(text, settings):
    """Start a session that reads the whole text at once; its newest token has no state."""
    return session_after(text, drafter(), settings, headed.target())


def transformers_network(head):
    """Return transformers' DFlash network with the same weights."""
    shape = head.config
    network = MuseGlimmerAssistantModel(
        MuseGlimmerAssistantConfig(
            hidden_size=shape.hidden_size,
            intermediate_size=shape.intermediate_size,
            num_hidden_layers=shape.num_hidden_layers,
            num_attention_heads=shape.num_attention_heads,
            num_key_value_heads=shape.num_key_value_heads,
            head_dim=shape.head_dim,
            rms_norm_eps=shape.rms_norm_eps,
            rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
            layer_types=["full_attention"] * shape.num_hidden_layers,
            block_size=shape.block_size,
            mask_token_id=shape.mask_token_id,
            target_layer_ids=list(shape.target_layer_ids),
        )
    )
    names = {
        "fc.weight": "encoder.fc.weight",
        "hidden_norm.weight": "encoder.output_norm_enc.weight",
    }
    tensors = {names.get(key, key): value for key, value in head.state_dict().items()}
    network.load_state_dict(tensors, strict=True)
    return network.eval()


@torch.inference_mode()
def plain_logits(head, target, text, block=None):
    """Return logits (n - 1, V) after `text` by transformers' network: no cache, one pass.

    block: tokens that replace the newest token and the masks after it.
    """
    shape = head.config
    whole = target.model(torch.tensor([text[:-1]]), output_hidden_states=True).hidden_states
    states = torch.cat([whole[k + 1] for k in shape.target_layer_ids], dim=-1)
    block = block or [text[-1], *[shape.mask_token_id] * (shape.block_size - 1)]
    words = target.model.get_input_embeddings()(torch.tensor([block]))
    return target.model.lm_head(transformers_network(head)(words, states).last_hidden_state[0, 1:])


def generated_by_transformers(head, target, ids, new):
    """Return the tokens that each target pass reads in transformers' own DFlash generation."""
    seen = []

    def listen(_module, args, given):
        seen.append((given["input_ids"] if "input_ids" in given else args[0])[0].tolist())

    hook = target.model.register_forward_pre_hook(listen, with_kwargs=True)
    try:
        target.model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids)),
            assistant_model=transformers_network(head),
            speculation_type="dflash",
            max_new_tokens=new,
            do_sample=False,
        )
    finally:
        hook.remove()
    return seen
