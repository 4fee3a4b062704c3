"""Small heads in published layouts: their names, shapes, dtypes and keys of config.json.

None of the package's own networks is used here. The expected outputs are computed from the tensors
in the file by an independent implementation of the published forward.
"""

from __future__ import annotations

import json
from functools import cache

import tiny
import torch
import torch.nn.functional as functional
from safetensors.torch import save_file

from specviz.models.target import Target
from specviz.trace.events import ModelCard

WIDE, INNER, HEADS, SHARED, SIZE, TOKENS, DRAFT, LAYERS = 24, 40, 4, 2, 6, 12, 9, 8
KEPT = [0, 1, 2, 4, 5, 6, 8, 10, 11]  # token ids in the vocabulary of a head with fewer tokens
SHAPE = {
    "hidden_size": WIDE, "intermediate_size": INNER, "num_attention_heads": HEADS,
    "num_key_value_heads": SHARED, "vocab_size": TOKENS, "rms_norm_eps": 1e-5,
}  # fmt: skip
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
    "hidden_act": "silu", "initializer_range": 0.02, "max_position_embeddings": 2048,
    "model_type": "llama", "num_hidden_layers": 1, "pad_token_id": 0, "tie_word_embeddings": False,
    "torch_dtype": "float16", "transformers_version": "4.28.1", "use_cache": True, **SHAPE,
}  # fmt: skip
SPECFORGE = {
    **LLAMA, "architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": DRAFT,
    "rope_scaling": None, "rope_theta": 500000.0, "norm_output": True,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 2, 6], "use_aux_hidden_state": True},
}  # fmt: skip
SPECULATORS = {
    "architectures": ["Eagle3Speculator"], "draft_vocab_size": DRAFT, "dtype": "bfloat16",
    "eagle_aux_hidden_state_layer_ids": [1, 3, 6], "embed_requires_grad": False, "fc_norm": False,
    "has_no_defaults_at_init": False, "norm_before_fc": False, "norm_before_residual": True,
    "norm_output": False, "speculators_model_type": "eagle3", "speculators_version": "0.3.0",
    "speculators_config": {
        "algorithm": "eagle3", "default_proposal_method": "greedy",
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
        "verifier": {"architectures": ["LlamaForCausalLM"], "name_or_path": "some/target"},
    },
    "target_hidden_size": None,
    "transformer_layer_config": {
        "model_type": "llama", "num_hidden_layers": 1, "head_dim": SIZE, "hidden_act": "silu",
        "max_position_embeddings": 256, "attention_bias": False, **SHAPE,
        "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},
    },
}  # fmt: skip


@cache
def target() -> Target:
    """Return a target with eight layers and twelve tokens; some random guesses are accepted."""
    model = tiny.llama(
        vocab_size=TOKENS, hidden_size=WIDE, intermediate_size=16, num_attention_heads=2,
        num_key_value_heads=1, num_hidden_layers=LAYERS, tie_word_embeddings=False,
    )  # fmt: skip
    made = Target(model, tiny.tokenizer(), ModelCard("tiny", "causal-lm", 1, 1, "f" * 64))
    made.eos = ()  # with so few tokens, a text would end at once
    made.encode = lambda prompt, new: [1 + letter % 11 for letter in prompt.encode()]
    usual = made.token_bytes  # several letters share a token, so it has no bytes
    made.token_bytes = lambda token: b"<unk>" if 1 <= token <= 11 else usual(token)
    return made


def random(*shape):
    """Return random numbers that follow from the seed set by `written`."""
    return (torch.randn(shape) * 0.3).half()


def norm():
    return torch.rand(WIDE).half() + 0.5


def layer(name, reads=WIDE, norms=("post_attention_layernorm",)):
    """Return a Llama layer whose attention reads rows of this width."""
    made = {
        f"{name}.self_attn.q_proj.weight": random(HEADS * SIZE, reads),
        f"{name}.self_attn.k_proj.weight": random(SHARED * SIZE, reads),
        f"{name}.self_attn.v_proj.weight": random(SHARED * SIZE, reads),
        f"{name}.self_attn.o_proj.weight": random(WIDE, HEADS * SIZE),
        f"{name}.mlp.gate_proj.weight": random(INNER, WIDE),
        f"{name}.mlp.up_proj.weight": random(INNER, WIDE),
        f"{name}.mlp.down_proj.weight": random(WIDE, INNER),
    }
    return made | {f"{name}.{each}.weight": norm() for each in norms}


EAGLE3_NORMS = ("hidden_norm", "input_layernorm", "post_attention_layernorm")


def vocabulary():
    """Return d2t, as offsets, and t2d."""
    kept = torch.tensor(KEPT)
    return {"d2t": kept - torch.arange(DRAFT), "t2d": torch.isin(torch.arange(TOKENS), kept)}


def eagle_tensors():
    """Return tensors with small queries, since no norm bounds the input of its attention.

    Scores in the thousands would make the rounding of each processor visible in the probabilities.
    """
    own = {"embed_tokens.weight": random(TOKENS, WIDE), "fc.weight": random(WIDE, 2 * WIDE)}
    made = own | {"fc.bias": random(WIDE)} | layer("layers.0")
    return made | {name: made[name] / 4 for name in made if "q_proj" in name or "k_proj" in name}


def eagle_without_bias():
    return {key: value for key, value in eagle_tensors().items() if key != "fc.bias"}


def eagle_with_biases():
    made, sizes = eagle_tensors(), {"q": HEADS * SIZE, "k": SHARED * SIZE, "v": SHARED * SIZE}
    return made | {f"layers.0.self_attn.{part}_proj.bias": random(n) for part, n in sizes.items()}


def eagle3_tensors(name="midlayer", own_embedding=False, taps=3):
    made = {
        "fc.weight": random(WIDE, taps * WIDE),
        "norm.weight": norm(),
        "lm_head.weight": random(DRAFT, WIDE),
    }
    if own_embedding:
        made["embed_tokens.weight"] = random(TOKENS, WIDE)
    return made | layer(name, 2 * WIDE, EAGLE3_NORMS) | vocabulary()


def full_vocabulary():
    """Return a head that proposes every token, without d2t and t2d."""
    made = eagle3_tensors() | {"lm_head.weight": random(TOKENS, WIDE)}
    return {key: value for key, value in made.items() if key not in ("d2t", "t2d")}


def qwen3_tensors():
    """Return a head of speculators with a layer of Qwen3's kind."""
    made, name = eagle3_tensors("layers.0"), "layers.0.self_attn"
    return made | {f"{name}.{part}_norm.weight": norm()[:SIZE] for part in "qk"}


def deepspec_tensors():
    """Return a head with five taps, every token, and a layer of Qwen3's kind."""
    made, name = eagle3_tensors("layers.0", own_embedding=True, taps=5), "layers.0.self_attn"
    made |= {f"{name}.{part}_norm.weight": norm()[:SIZE] for part in "qk"}
    made |= {"lm_head.weight": random(TOKENS, WIDE)}
    return {key: value for key, value in made.items() if key not in ("d2t", "t2d")}


def modelopt_tensors():
    """Return a head as NVIDIA's ModelOpt exports it: without embeddings and t2d."""
    return {key: value for key, value in eagle3_tensors("layers.0").items() if key != "t2d"}


def peagle_tensors():
    """Return a head with three layers, the first of EAGLE-3's kind."""
    plain = ("input_layernorm", "post_attention_layernorm")
    first = eagle3_tensors("layers.0", own_embedding=True)
    later = layer("layers.1", WIDE, plain) | layer("layers.2", WIDE, plain)
    return first | later | {"mask_hidden": random(1, 1, 3 * WIDE)}


def medusa_tensors(own=True, heads=3):
    made = {}
    for i in range(heads):
        made[f"{i}.0.linear.weight"] = random(WIDE, WIDE)
        made[f"{i}.0.linear.bias"] = random(WIDE)
        made |= {f"{i}.1.weight": random(TOKENS, WIDE)} if own else {}
    return made


def medusa_by_vllm(own=True, heads=3):
    made = {f"blocks.{i}.layers.0.weight": random(WIDE, WIDE) for i in range(heads)}
    if not own:
        return made | {"lm_head.weight": random(TOKENS, WIDE)}
    return made | {f"lm_heads.{i}.weight": random(TOKENS, WIDE) for i in range(heads)}


def mtp_tensors():
    """Return DeepSeek's names, with copies of the target's embeddings and projection."""
    name = f"model.layers.{LAYERS}"
    own = layer(name, WIDE, ("input_layernorm", "post_attention_layernorm", "enorm", "hnorm"))
    return own | {
        f"{name}.eh_proj.weight": random(WIDE, 2 * WIDE),
        f"{name}.embed_tokens.weight": random(TOKENS, WIDE),
        f"{name}.shared_head.norm.weight": norm(),
        f"{name}.shared_head.head.weight": random(TOKENS, WIDE),
    }


def dflash_tensors(layers=2, taps=2):
    made = {"fc.weight": random(WIDE, taps * WIDE), "hidden_norm.weight": norm()}
    for i in range(layers):
        made |= layer(f"layers.{i}", WIDE, ("input_layernorm", "post_attention_layernorm"))
        for part in "qk":
            made[f"layers.{i}.self_attn.{part}_norm.weight"] = norm()[:SIZE]
    return made | {"norm.weight": norm()}


def normed_before_fc():
    return eagle3_tensors("layers.0") | {"input_norm.weight": torch.cat([norm(), norm(), norm()])}


def normed_by_tap():
    return eagle3_tensors("layers.0") | {f"fc_norm.{i}.weight": norm() for i in range(3)}


def scaled(**rope):
    inner = {**SPECULATORS["transformer_layer_config"], "rope_parameters": rope}
    return {**SPECULATORS, "transformer_layer_config": inner}


DEEPSPEC = {
    **LLAMA, "architectures": ["Qwen3Eagle3Model"], "model_type": "qwen3", "head_dim": SIZE,
    "num_target_layers": LAYERS, "draft_num_hidden_layers": 1, "layer_types": ["full_attention"],
    "rope_theta": 1000000, "step_loss_decay": 0.8, "target_layer_ids": [0, 2, 3, 5, 6],
    "ttt_length": 7,
}  # fmt: skip
OPTIONS = {
    "eagle_aux_hidden_state_layer_ids": [0, 2, 6], "use_aux_hidden_state": True,
    "use_input_layernorm_in_first_layer": True, "use_last_layernorm": True,
    "use_mtp_layernorm": False, "next_layer_regular": True, "parallel_draft_step": 1,
    "parallel_draft_heads_num_layers": 1,
}  # fmt: skip
MODELOPT = {
    **LLAMA, "architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": DRAFT,
    "attention_bias": False, "attention_dropout": 0.0, "head_dim": SIZE, "mlp_bias": False,
    "pretraining_tp": None, "rope_scaling": {"rope_type": "default", "rope_theta": 500000.0},
    "rope_theta": 10000, "eagle_config": OPTIONS,
}  # fmt: skip
MEDUSA = {
    "base_model_name_or_path": "lmsys/vicuna-7b-v1.3", "medusa_num_heads": 2,
    "medusa_num_layers": 1, "transformers_version": "4.31.0",
}  # fmt: skip
VLLM_MEDUSA = {
    "architectures": ["MedusaModel"], "model_type": "medusa", "hidden_size": WIDE,
    "vocab_size": TOKENS, "num_heads": 3, "num_hidden_layers": 1, "truncated_vocab_size": TOKENS,
    "medusa_fc_bias": False, "original_lm_head": False, "max_paths": 64, "topk": 10,
}  # fmt: skip
DFLASH = {
    **LLAMA, "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "block_size": 5,
    "attention_bias": False, "head_dim": SIZE, "layer_types": ["full_attention"] * 2,
    "num_hidden_layers": 2, "num_target_layers": LAYERS, "rope_theta": 1000000,
    "dflash_config": {"mask_token_id": 3, "target_layer_ids": [1, 4]},
}  # fmt: skip
PEAGLE = {
    **SPECULATORS, "architectures": ["PEagleSpeculator"], "speculators_model_type": "peagle",
    "mask_token_id": 7, "embed_requires_grad": True, "norm_before_residual": False,
    "transformer_layer_config": {
        **SPECULATORS["transformer_layer_config"], "num_hidden_layers": 3,
    },
}  # fmt: skip
SPECFORGE_PEAGLE = {
    **LLAMA, "architectures": ["PEagleDraftModel"], "draft_vocab_size": DRAFT, "head_dim": SIZE,
    "num_hidden_layers": 3, "mask_token_id": 7, "rope_theta": 1000000,
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16, "rope_theta": 500.0,
}  # fmt: skip

MTP = {
    **LLAMA, "num_hidden_layers": LAYERS, "num_nextn_predict_layers": 1,
    "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},
}  # fmt: skip


def modelopt_tensors_normed():
    return {key: value for key, value in normed_before_fc().items() if key != "t2d"}


def embedded():
    return eagle3_tensors("layers.0", own_embedding=True)


def unembedded():
    return eagle3_tensors("layers.0")


# By layout: the family, its config.json, its tensors.
PUBLISHED = {
    "eagle": ("eagle2", LLAMA, eagle_tensors),
    "eagle without a bias": ("eagle2", {**LLAMA, "bias": False}, eagle_without_bias),
    "eagle with qkv biases": ("eagle2", {**LLAMA, "qkv_bias": True}, eagle_with_biases),
    "eagle3 of SafeAILab": ("eagle3", {**LLAMA, "draft_vocab_size": DRAFT}, eagle3_tensors),
    "eagle3 of all tokens": ("eagle3", {**LLAMA, "draft_vocab_size": TOKENS}, full_vocabulary),
    "eagle3 of SpecForge": ("eagle3", SPECFORGE, lambda: eagle3_tensors(own_embedding=True)),
    "eagle3 of speculators": ("eagle3", SPECULATORS, embedded),
    "eagle3 with embeddings": ("eagle3", {**SPECULATORS, "embed_requires_grad": True}, embedded),
    "eagle3 with norm_before_fc": (
        "eagle3", {**SPECULATORS, "norm_before_fc": True}, normed_before_fc,
    ),
    "eagle3 with fc_norm": ("eagle3", {**SPECULATORS, "fc_norm": True}, normed_by_tap),
    "eagle3 with norm_output": ("eagle3", {**SPECULATORS, "norm_output": True}, unembedded),
    "eagle3 of Qwen3's kind": ("eagle3", SPECULATORS, qwen3_tensors),
    "eagle3 with scaled positions": ("eagle3", scaled(**LLAMA3), unembedded),
    "eagle3 of DeepSpec": ("eagle3", DEEPSPEC, deepspec_tensors),
    "eagle3 of ModelOpt": ("eagle3", MODELOPT, modelopt_tensors),
    "eagle3 of ModelOpt, normed": (
        "eagle3", {**MODELOPT, "eagle_config": {**OPTIONS, "norm_before_fc": True}},
        modelopt_tensors_normed,
    ),
    "p-eagle of speculators": ("p-eagle", PEAGLE, peagle_tensors),
    "p-eagle of SpecForge": ("p-eagle", SPECFORGE_PEAGLE, peagle_tensors),
    "medusa": ("medusa", MEDUSA, medusa_tensors),
    "medusa of TGI": ("medusa", MEDUSA, lambda: medusa_tensors(own=False)),
    "medusa of vLLM": ("medusa", VLLM_MEDUSA, medusa_by_vllm),
    "medusa of vLLM, one head": (
        "medusa", {**VLLM_MEDUSA, "original_lm_head": True}, lambda: medusa_by_vllm(own=False),
    ),
    "mtp": ("mtp", MTP, mtp_tensors),
    "dflash": ("dflash", DFLASH, dflash_tensors),
}  # fmt: skip


def written(layout, folder, file="model.safetensors", drop=(), more=None, **changes):
    """A folder with a head in this layout; `changes` go to its config, `drop` and `more` to its
    tensors."""
    _, config, tensors = PUBLISHED[layout]
    torch.manual_seed(7)
    folder.mkdir(parents=True, exist_ok=True)
    said = {key: value for key, value in {**config, **changes}.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(said))
    made = {key: value.contiguous() for key, value in tensors().items() if key not in drop}
    made |= more or {}
    if file.endswith(".safetensors"):
        save_file(made, folder / file)
    else:
        torch.save(made, folder / file)
    return made


# The published forwards, computed from the tensors of the files.


def rms(rows, weight):
    return rows / (rows.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.float()


def rotated(rows, places, rates):
    """Rotate (heads, n, d) in halves."""
    angles = places[:, None].float() * rates
    cosine, sine = angles.cos(), angles.sin()
    first, second = rows.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


def rates(theta):
    return theta ** -(torch.arange(0, SIZE, 2) / SIZE)


def llama3_rates():
    """Follow Meta's code: divide low frequencies by `factor`, and interpolate those in between."""
    plain, old = rates(LLAMA3["rope_theta"]), LLAMA3["original_max_position_embeddings"]
    low, high, factor = (LLAMA3[k] for k in ("low_freq_factor", "high_freq_factor", "factor"))
    found = []
    for rate in plain.tolist():
        length = 2 * torch.pi / rate
        if length < old / high:
            found.append(rate)
        elif length > old / low:
            found.append(rate / factor)
        else:
            share = (old / length - low) / (high - low)
            found.append((1 - share) * rate / factor + share * rate)
    return torch.tensor(found)


def attention(t, name, rows, wheels):
    """Attend causally over rows (n, w) at positions 0, 1, …"""
    n, places = len(rows), torch.arange(len(rows))

    def by_head(part):
        made = rows @ t[f"{name}.{part}_proj.weight"].float().T
        if (bias := t.get(f"{name}.{part}_proj.bias")) is not None:
            made = made + bias.float()
        made = made.unflatten(-1, (-1, SIZE)).transpose(0, 1)
        if (weight := t.get(f"{name}.{part}_norm.weight")) is not None:
            made = rms(made, weight)
        return made

    queries, keys = rotated(by_head("q"), places, wheels), rotated(by_head("k"), places, wheels)
    keys, values = (m.repeat_interleave(HEADS // SHARED, 0) for m in (keys, by_head("v")))
    scores = queries @ keys.mT / SIZE**0.5 + torch.full((n, n), -torch.inf).triu(1)
    mixed = (scores.softmax(-1) @ values).transpose(0, 1).flatten(1)
    return mixed @ t[f"{name}.o_proj.weight"].float().T


def mlp(t, name, rows):
    gate, up, down = (
        t[f"{name}.mlp.{part}_proj.weight"].float() for part in ("gate", "up", "down")
    )
    return functional.silu(rows @ gate.T) * (rows @ up.T) @ down.T


def eagle3_layer(t, name, words, states, wheels, before=False):
    words = rms(words, t[f"{name}.input_layernorm.weight"])
    normed = rms(states, t[f"{name}.hidden_norm.weight"])
    states = normed if before else states
    states = states + attention(t, f"{name}.self_attn", torch.cat([words, normed], -1), wheels)
    return states + mlp(t, name, rms(states, t[f"{name}.post_attention_layernorm.weight"]))


def llama_layer(t, name, rows, wheels):
    if (weight := t.get(f"{name}.input_layernorm.weight")) is not None:
        rows = rows + attention(t, f"{name}.self_attn", rms(rows, weight), wheels)
    else:  # EAGLE's
        rows = rows + attention(t, f"{name}.self_attn", rows, wheels)
    return rows + mlp(t, name, rms(rows, t[f"{name}.post_attention_layernorm.weight"]))


def hidden(text):
    """Return transformers' hidden_states of the target: [k] is the output of layer k, from 1."""
    with torch.inference_mode():
        return target().model(torch.tensor([text]), output_hidden_states=True).hidden_states


def fused(t, taps):
    """Apply the file's norms and fc to taps (n, 3 h)."""
    if "fc_norm.0.weight" in t:
        chunks = taps.chunk(3, -1)
        taps = torch.cat([rms(c, t[f"fc_norm.{i}.weight"]) for i, c in enumerate(chunks)], -1)
    if "input_norm.weight" in t:
        taps = rms(taps, t["input_norm.weight"])
    return taps @ t["fc.weight"].float().T


def words_of(t, own):
    """Return the file's embeddings if they are used, else the target's."""
    table = t.get("embed_tokens.weight") if own else None
    return target().model.get_input_embeddings().weight if table is None else table.float()


def over_all(draft, t):
    """Return the distribution over all tokens from logits over the draft vocabulary."""
    kept = KEPT if "d2t" in t else range(TOKENS)
    whole = torch.full((*draft.shape[:-1], TOKENS), -torch.inf)
    whole[..., list(kept)] = draft
    return whole.softmax(-1)


def eagle3_law(t, text, path, taps, wheels, own=True, before=False, after=False):
    """Return the head's distribution after `path`, with the given variants."""
    name = "midlayer" if "midlayer.mlp.up_proj.weight" in t else "layers.0"
    states = fused(t, torch.cat([hidden(text)[k][0, :-1] for k in taps], -1))
    words, tokens = words_of(t, own), [*text[1:], *path]
    while True:
        out = eagle3_layer(t, name, words[tokens[: len(states)]], states, wheels, before)
        normed = rms(out, t["norm.weight"])
        if len(states) == len(tokens):
            return over_all(normed[-1] @ t["lm_head.weight"].float().T, t)
        states = torch.cat([states, (normed if after else out)[-1:]])


def eagle_law(t, text, path):
    """Compute EAGLE from features after the final norm, with the target's own output head."""
    states, tokens = hidden(text)[-1][0, :-1], [*text[1:], *path]
    words, bias = words_of(t, own=True), t.get("fc.bias", torch.zeros(WIDE)).float()
    while True:
        rows = torch.cat([words[tokens[: len(states)]], states], -1)
        out = llama_layer(t, "layers.0", rows @ t["fc.weight"].float().T + bias, rates(10_000.0))
        if len(states) == len(tokens):
            return target().model.lm_head(out[-1]).softmax(-1)
        states = torch.cat([states, out[-1:]])


def peagle_laws(t, text, many, taps, wheels):
    """Return the distributions (n, V) at the n positions after `text`, from one causal pass."""
    rows = torch.cat([hidden(text)[k][0, :-1] for k in taps], -1)
    mask = t["mask_hidden"].float().flatten()[None].expand(many - 1, -1)
    states = fused(t, torch.cat([rows, mask]))
    words = t["embed_tokens.weight"].float()[[*text[1:], *[7] * (many - 1)]]
    out = eagle3_layer(t, "layers.0", words, states, wheels)
    for name in ("layers.1", "layers.2"):
        out = llama_layer(t, name, out, wheels)
    return over_all(rms(out[-many:], t["norm.weight"]) @ t["lm_head.weight"].float().T, t)


def medusa_laws(t, text):
    """Return the distribution of each head, from the state of the second-to-last token."""
    state, laws = hidden(text)[-1][0, -2], []
    for i in range(3):
        block = t.get(f"{i}.0.linear.weight", t.get(f"blocks.{i}.layers.0.weight")).float()
        bias = t.get(f"{i}.0.linear.bias", torch.zeros(WIDE)).float()
        last = t.get(f"{i}.1.weight", t.get(f"lm_heads.{i}.weight", t.get("lm_head.weight")))
        last = target().model.lm_head.weight if last is None else last.float()
        laws.append((state + functional.silu(block @ state + bias)) @ last.T)
    return torch.stack(laws).softmax(-1)


def mtp_law(t, text, path):
    """Compute DeepSeek's module, applied repeatedly to its own output."""
    name = f"model.layers.{LAYERS}"
    states, tokens = hidden(text)[-1][0, :-1], [*text[1:], *path]
    words = t[f"{name}.embed_tokens.weight"].float()
    while True:
        halves = [
            rms(words[tokens[: len(states)]], t[f"{name}.enorm.weight"]),
            rms(states, t[f"{name}.hnorm.weight"]),
        ]
        joined = torch.cat(halves, -1) @ t[f"{name}.eh_proj.weight"].float().T
        out = llama_layer(t, name, joined, rates(500_000.0))
        if len(states) == len(tokens):
            last = rms(out[-1], t[f"{name}.shared_head.norm.weight"])
            return (last @ t[f"{name}.shared_head.head.weight"].float().T).softmax(-1)
        states = torch.cat([states, out[-1:]])
