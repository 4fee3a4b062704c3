"""DFlash2: convolutions along a block, guesses chosen in order, training and public files."""

from __future__ import annotations

import json
from dataclasses import replace

import dflash_made
import headed
import published
import pytest
import tiny
import torch
from driven import GONE, check_places, check_refused, deep_target, driven, session_after
from once import once
from safetensors.torch import save_file
from test_engine import traced

from specviz.catalog.loading import load_drafter
from specviz.drafters.dflash2 import DFlash2
from specviz.drafters.dflash2 import head as training
from specviz.drafters.dflash2.head import DFlash2Config, DFlash2Head
from specviz.models.errors import Unsuitable
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.verification import Drawn

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(0), gamma=9, max_new_tokens=40)
WARM = Settings(Sampling(1.1, top_k=12, top_p=0.97), gamma=9, max_new_tokens=24)
SIZE = dflash_made.SIZE
TOP = 5  # candidates per position
GROUP = 4  # channels of a group


def config(target=None, **changes):
    """Return the house config with smaller blocks, and two taps of a three-layer target."""
    usual = DFlash2Config.house(target or headed.target())
    taps = usual.target_layer_ids if target else (0, 1)
    small = {"selector_rank": 6, "selector_top_k": TOP, "conv_group_size": GROUP}
    return replace(usual, block_size=SIZE, target_layer_ids=taps, **small | changes)


def random_head(target=None, **changes):
    """Return a head with large random weights and norms, so that every part matters."""
    torch.manual_seed(8)
    head = DFlash2Head(config(target, **changes)).eval().requires_grad_(False)
    for name, weight in head.named_parameters():
        if weight.dim() == 1:
            weight.copy_(torch.rand_like(weight) + 0.5)
        if "conv" in name or "codebook" in name:
            torch.nn.init.normal_(weight, std=0.5 if "codebook" in name else 0.2)
    return tiny.blurred(head, 0.2)


@once
def trained():
    """Return the head that most tests use."""
    return dflash_made.fitted(lambda: DFlash2Head(config()), training.loss, 90)


def drafter(head=None):
    """Return the drafter with the learned head, or with the given one."""
    head = head or trained()
    return DFlash2(head, tiny.card(head, "tiny-dflash2", "dflash2"))


def convolved(rows, base, predicted):
    """Return z-lab's convolution of a block's rows (n, h), by its formula, one number at a time.

    base: (taps, h). predicted: (n, taps, groups).
    """
    out = torch.zeros_like(rows)
    for t in range(len(rows)):
        for c in range(rows.shape[1]):
            for tap in range(min(t + 1, len(base))):
                out[t, c] += (base[tap, c] + predicted[t, tap, c // GROUP]) * rows[t - tap, c]
    return out


@torch.inference_mode()
def block_outputs(head, target, text):
    """Return the outputs (n, h) of a block, by transformers' network with convolutions added."""
    plain = dflash_made.DFlashHead(replace(dflash_made.config(target), block_size=SIZE))
    plain.load_state_dict({key: head.state_dict()[key] for key in plain.state_dict()})
    network = dflash_made.transformers_network(plain)
    kernels = {}

    def wrap(part, conv):
        def before(_module, args, given):
            (rows,) = [given["hidden_states"]] if "hidden_states" in given else args[:1]
            taps = conv.base_kernel.shape[1]
            kernel = (rows[0] @ conv.kernel_projection.weight.T).reshape(SIZE, 2, taps, -1)
            kernels[part] = kernel[:, 1]
            new = convolved(rows[0], conv.base_kernel[0], kernel[:, 0])[None]
            if "hidden_states" in given:
                return args, {**given, "hidden_states": new}
            return (new, *args[1:]), given

        def after(_module, _args, out):
            first = out[0] if isinstance(out, tuple) else out
            new = convolved(first[0], conv.base_kernel[1], kernels[part])[None]
            return (new, *out[1:]) if isinstance(out, tuple) else new

        part.register_forward_pre_hook(before, with_kwargs=True)
        part.register_forward_hook(after)

    for layer, ours in zip(decoder_layers(network), head.layers, strict=True):
        wrap(layer.self_attn, ours.attention_conv)
        wrap(layer.mlp, ours.mlp_conv)
    shape = head.config
    whole = target.model(torch.tensor([text[:-1]]), output_hidden_states=True).hidden_states
    states = torch.cat([whole[k + 1] for k in shape.target_layer_ids], dim=-1)
    block = torch.tensor([[text[-1], *[shape.mask_token_id] * (SIZE - 1)]])
    words = target.model.get_input_embeddings()(block)
    return network(words, states).last_hidden_state[0, 1:]


def decoder_layers(network):
    """Return the layers of transformers' network that have an attention and an MLP."""
    return [m for m in network.modules() if hasattr(m, "self_attn") and hasattr(m, "mlp")]


def chosen(head, base, rows, tokens):
    """Return the selector's logits (n, V) by z-lab's formula; -inf for all but the candidates."""
    weights = {k.removeprefix("candidate_selector."): v for k, v in head.state_dict().items()}
    found = torch.full_like(base, -torch.inf)
    for k, (row, token) in enumerate(zip(rows, tokens, strict=False)):
        known = weights["predecessor_codebook"][token] * (weights["hidden_projection.weight"] @ row)
        for candidate in base[k].topk(TOP).indices.tolist():
            added = known @ weights["successor_codebook"][candidate]
            found[k, candidate] = base[k, candidate] + added
    return found


@pytest.mark.parametrize("settings", [GREEDY, WARM], ids=["greedy", "warm"])
def test_guesses_are_drawn_from_the_candidates_of_a_convolved_block(settings):
    """Compare with transformers' network and z-lab's formulas, over a growing cache."""
    target = deep_target()
    head = random_head(target)
    for text, proposal in driven(target, drafter(head), settings):
        tokens = list(proposal.tree.tokens)
        guesses = len(tokens) - 1
        assert proposal.tree.parents == tuple(range(-1, guesses))
        assert guesses == SIZE - 1 or tokens[-1] in target.eos
        rows = block_outputs(head, target, text)[:guesses]
        base = target.model.lm_head(rows)
        soft = chosen(head, base, rows, tokens).softmax(-1)
        assert not torch.allclose(soft, base.softmax(-1), atol=0.01)
        for node, token in enumerate(tokens[1:], start=1):
            evidence = proposal.evidence[node]
            assert proposal.score[node] == pytest.approx(soft[node - 1, token].item(), abs=1e-4)
            laws = [base[node - 1].softmax(-1), soft[node - 1]]
            check_places([evidence["base"], evidence["top"]], laws)
        assert proposal.evidence[0]["candidates"] == TOP
        if settings is GREEDY:
            assert tokens[1:] == soft.argmax(-1).tolist()
            assert proposal.drawn is Drawn.POINT_MASS
            assert not proposal.q
        else:
            assert proposal.drawn is Drawn.SAMPLED
            for node, q in proposal.q.items():
                assert (q > 0).sum() <= TOP
                warm = (soft[node].log() / settings.sampling.temperature).softmax(-1)
                expected = torch.where(q > 0, warm, 0.0)
                assert torch.allclose(q, (expected / expected.sum()).to(q), atol=1e-4)


def test_training_logits_equal_those_of_a_session():
    head, target = random_head(), headed.target()
    text = target.encode("The cat saw the dog and", 4)
    outputs = headed.read_target_outputs(target.model, torch.tensor([text]))
    anchor = len(text) - SIZE - 1
    with torch.inference_mode():
        anchors = torch.tensor([3, anchor])
        logits, candidates, added = training.selected(head, outputs, anchors)
        before = text[: anchor + 1]
        rows = session_after(before, drafter(head), GREEDY, target).reader.block(before)[1:]
        base = target.model.lm_head(rows)
        expected = chosen(head, base, rows, text[anchor:])
    assert torch.allclose(logits[0, 1], base, atol=1e-4)
    ours = logits[0, 1].gather(-1, candidates[0, 1]) + added[0, 1]
    assert torch.allclose(ours, expected.gather(-1, candidates[0, 1]), atol=1e-4)


def test_untrained_parts_change_nothing():
    head = DFlash2Head(config()).eval()
    plain = dflash_made.DFlashHead(dflash_made.config()).eval()
    plain.load_state_dict({key: head.state_dict()[key] for key in plain.state_dict()})
    outputs, anchors = headed.outputs(2), torch.tensor([3, 9])
    with torch.inference_mode():
        rows = training.blocks(head, outputs, anchors)
        assert torch.equal(rows, training.blocks(plain, outputs, anchors))
        assert not training.selected(head, outputs, anchors)[2].any()


def test_loss_of_the_selector_is_that_of_its_candidates():
    """Compute the loss of one guess by hand: cross-entropy, and a part for the choice."""
    head, outputs = random_head(), headed.outputs(1)
    anchors = torch.tensor([39])  # of 40 tokens: one position has a target
    with torch.inference_mode():
        logits, candidates, added = training.selected(head, outputs, anchors)
        total = 0.0
        for text in range(len(logits)):
            p = outputs.logits[text, 39].softmax(-1)
            total -= (p * logits[text, 0, 0].log_softmax(-1)).sum()
            among = candidates[text, 0, 0]
            part, mass = p[among] / p[among].sum(), p[among].sum()
            q = (logits[text, 0, 0, among] + added[text, 0, 0]).softmax(-1)
            total += mass * (-(part * q.log()).sum() + (part - q).abs().sum()) / 2
        found = training.loss(head, outputs, anchors)
    assert found.item() == pytest.approx(total.item() / len(logits), rel=1e-4)


# Traces


def test_check_accepts_the_trace_and_detects_forged_evidence():
    trace = traced(headed.target(), drafter(), headed.PROMPTS[0], WARM)
    check(trace)
    event = next(e for e in trace.events if (getattr(e, "remark", None) or {}).get("candidates"))
    changes = [
        ({"remark": {**event.remark, "candidates": 3}}, "candidates"),
        ({"remark": {**event.remark, "masks": 3}}, "masks"),
        ({"remark": {**event.remark, "block": SIZE + 1}}, "masks is 5 but should be 6"),
    ]
    check_refused(trace, event, changes)


# Public files

ZLAB = {
    **published.DFLASH, "architectures": ["DFlash2DraftModel"],
    "dflash_config": {
        **published.DFLASH["dflash_config"], "block_size": 5, "conv_kernel_size": 2,
        "conv_group_size": 8, "selector_rank": 4, "selector_top_k": 6,
    },
}  # fmt: skip
OUTER = {
    "architectures": ["DFlash2DraftModel"], "speculators_model_type": "dflash2", "block_size": 5,
    "mask_token_id": 3, "draft_vocab_size": published.TOKENS, "sample_from_anchor": False,
    "sliding_window_non_causal": True, "aux_hidden_state_layer_ids": [2, 5],
    "conv_kernel_size": 2, "conv_group_size": 8, "selector_rank": 4, "selector_top_k": 6,
}  # fmt: skip
DROPPED = ("architectures", "block_size", "dflash_config")
SPECULATORS = OUTER | {
    "transformer_layer_config": {k: v for k, v in ZLAB.items() if k not in DROPPED}
}


def public_tensors():
    """Return the tensors of z-lab's layout."""
    torch.manual_seed(7)
    wide, tokens = published.WIDE, published.TOKENS
    made = published.dflash_tensors() | {
        "candidate_selector.predecessor_codebook": torch.randn(tokens, 4),
        "candidate_selector.successor_codebook": torch.randn(tokens, 4),
        "candidate_selector.hidden_projection.weight": torch.randn(4, wide),
    }
    for layer in range(2):
        for part in ("attention", "mlp"):
            name = f"layers.{layer}.{part}_conv"
            made[f"{name}.base_kernel"] = torch.randn(2, 2, wide)
            made[f"{name}.kernel_projection.weight"] = torch.randn(4 * wide // 8, wide)
    return made


def write(folder, config, more=None):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    kept = {k: v for k, v in (public_tensors() | (more or {})).items() if v is not GONE}
    save_file(kept, folder / "model.safetensors")
    return str(folder)


COPIES = {
    "embed_tokens.weight": torch.zeros(published.TOKENS, published.WIDE),
    "lm_head.weight": torch.zeros(published.TOKENS, published.WIDE),
}


@pytest.mark.parametrize("form", ["zlab", "speculators"])
def test_every_tensor_of_a_published_file_is_used(tmp_path, form):
    """speculators' copies of the target's embeddings and output head are not read."""
    config, more = (ZLAB, {}) if form == "zlab" else (SPECULATORS, COPIES)
    made = load_drafter(write(tmp_path / "a", config, more), published.target())
    assert isinstance(made, DFlash2)
    assert made.head.config.tap_layers == (2, 5)
    tensors, state = public_tensors(), made.head.state_dict()
    assert state.keys() == tensors.keys()
    assert all(torch.equal(state[key], value) for key, value in tensors.items())
    check(traced(published.target(), made, tiny.PROMPT, replace(WARM, max_new_tokens=12)))


def inner(**changes):
    return {"dflash_config": {**ZLAB["dflash_config"], **changes}}


REFUSED = [
    (ZLAB | {"layer_types": ["sliding_attention"] * 2, "sliding_window": 4}, {}, "sliding window"),
    (ZLAB | inner(conv_group_size=7), {}, "convolutions do not fit"),
    (ZLAB | inner(conv_kernel_size=6), {}, "convolutions do not fit"),
    (ZLAB | inner(selector_top_k=0), {}, "selector_top_k must be at least 1"),
    (ZLAB | inner(selector_top_k=published.TOKENS + 1), {}, "more candidates than there are"),
    (ZLAB | inner(selector_rank=None), {}, "gives no selector_rank"),
    (ZLAB | inner(output_multiplier=2.0), {}, "output_multiplier to 2.0"),
    (ZLAB | inner(final_logit_softcapping=30.0), {}, "final_logit_softcapping to 30.0"),
    (ZLAB | {"architectures": ["DFlashDraftModel"]}, {}, "is a DFlashDraftModel"),
    (ZLAB, {"candidate_selector.hidden_projection.weight": GONE}, "hidden_projection"),
    (ZLAB, {"layers.0.mlp_conv.base_kernel": GONE}, r"layers\.0\.mlp_conv\.base_kernel"),
    (ZLAB, {"layers.0.conv.weight": torch.zeros(2)}, r"layers\.0\.conv\.weight"),
    (SPECULATORS | {"sample_from_anchor": True}, {}, "sets sample_from_anchor"),
    (SPECULATORS | {"draft_vocab_size": 10}, {}, "has a smaller vocabulary"),
    (SPECULATORS | {"embed_requires_grad": True}, COPIES, r"embed_tokens\.weight"),
    (SPECULATORS | {"transformer_layer_config": 3}, {}, "transformer_layer_config is not a JSON"),
]


@pytest.mark.parametrize(("config", "more", "problem"), REFUSED)
def test_file_that_is_not_supported_is_refused(tmp_path, config, more, problem):
    with pytest.raises(Unsuitable, match=problem):
        load_drafter(write(tmp_path / "a", config, more), published.target())
