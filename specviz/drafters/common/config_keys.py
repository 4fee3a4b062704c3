"""What the config.json of a head can ask for: one list, with all spellings, for every family.

A head whose config asks for a computation that is not implemented would draft badly without an
error. So every key is either read by the family's config class, or has an effect that is listed
here with the values that need no computation, or is known to change nothing. Any other key is
refused by name, unless its value is null.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from specviz.models.errors import Unsuitable

NESTED: Final = ("eagle_config", "dflash_config")  # objects whose keys are checked too
FULL: Final = "full_attention"

# Sizes of windows that attention may have, and keys that only say how such windows are used.
WINDOW_SIZES: Final = (
    "sliding_window", "sliding_window_size", "swa_window_size", "window_size",
    "attention_window_size",
)  # fmt: skip
WINDOW_KEYS: Final = frozenset(
    (*WINDOW_SIZES, "layer_types", "use_sliding_window", "use_swa", "max_window_layers",
     "sliding_window_pattern", "sliding_window_non_causal")
)  # fmt: skip

ACTIVATIONS: Final = ("hidden_act", "hidden_activation", "mlp_activation", "mlp_hidden_act")
SILU: Final = ("silu", "swish")

# Keys with an effect, and the values for which heads here compute the right thing.
IMPLEMENTED: Final[Mapping[str, tuple[Any, ...]]] = {
    # Attention
    "is_causal": (True,),
    "causal": (True,),
    "attention_mode": ("gqa",),
    "attention_sink_bias": (False,),
    "add_swa_attention_sink_bias": (False,),
    "attn_logit_softcapping": (0,),
    "attn_temperature_tuning": (False,),
    "use_cla": (False,),
    # Positions
    "position_embedding_type": ("rope",),
    "use_rotary_pos_emb": (True,),
    "is_neox_style": (True,),
    "rope_interleave": (False,),
    "partial_rotary_factor": (1.0,),
    "rotary_pct": (1.0,),
    # Factors and norms
    "embedding_multiplier": (1.0,),
    "input_embedding_scale": (1.0,),
    "scale_emb": (1.0,),
    "residual_multiplier": (1.0,),
    "output_multiplier": (1.0,),
    "logit_scale": (1.0,),
    "logits_scaling": (1.0,),
    "final_logit_softcapping": (0,),
    "norm_type": ("rms",),
    "fc_layernorm": (False,),
    "fc_norm": (False,),
    "norm_before_fc": (False,),
    "norm_before_residual": (False,),
    "norm_output": (False,),
    "use_input_layernorm_in_first_layer": (True,),
    "use_last_layernorm": (True,),
    "use_mtp_layernorm": (False,),
    # Parts of a network
    "mlp_bias": (False,),
    "use_aux_hidden_state": (True,),
    "next_layer_regular": (True,),
    "parallel_draft_step": (0, 1),
    "decoder_sparse_step": (1,),
    "add_classification_head": (False,),
    "is_decoder": (True, False),
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "tie_encoder_decoder": (False,),
    "use_mrope": (False,),  # for text alone, its sections all have the same positions
}

# Keys whose effect is visible in the names or shapes of tensors, which are compared.
IN_TENSORS: Final = frozenset((
    "attention_bias", "bias", "mlp_layers", "num_aux_hidden_states", "org_vocab_size", "qk_norm",
    "qkv_bias", "tie_word_embeddings", "use_qk_norm",
))  # fmt: skip

# Keys that change nothing in a draft: names and versions, special tokens, training, dropout, and
# the options of `generate`, which older versions of transformers also wrote into config.json.
HARMLESS: Final = frozenset((
    "_attn_implementation", "_name_or_path", "architectures", "attention_backend", "auto_map",
    "base_model_name_or_path", "dtype", "has_no_defaults_at_init", "license", "modal_type",
    "model_name", "model_type", "name_or_path", "parallel_draft_heads_num_layers", "prefix",
    "pruned_heads", "speculators_config", "speculators_model_type", "speculators_version",
    "target_model_name_or_path", "target_model_type", "torch_dtype", "torchscript",
    "transformers_version", "unsloth_version", "use_bfloat16", "verifier_name_or_path",
    "attention_dropout", "confidence_head_alpha", "draft_num_hidden_layers", "embd_pdrop",
    "embed_requires_grad", "ep_size", "gradient_checkpointing", "hidden_dropout",
    "hidden_dropout_prob", "initializer_range", "loss_decay_gamma", "mlp_dropout", "num_anchors",
    "output_router_logits", "pretraining_tp", "resid_pdrop", "router_aux_loss_coef",
    "step_loss_decay", "ttt_length",
    "max_position_embeddings", "max_sequence_length", "seq_length",
    "class_num", "cla_share_factor", "dense_list", "finetuning_task", "id2label", "im_end_id",
    "im_newline_id", "im_start_id", "label2id", "mask_init_id", "num_labels", "pad_id",
    "pool_type", "problem_type", "task_specific_params", "text_end_id", "text_start_id",
    "tf_legacy_loss", "tokenizer_class",
    "bad_words_ids", "begin_suppress_tokens", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "length_penalty",
    "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_attentions", "output_hidden_states", "output_scores",
    "remove_invalid_values", "repetition_penalty", "return_dict", "return_dict_in_generate",
    "suppress_tokens", "temperature", "top_k", "top_p", "typical_p", "use_cache",
))  # fmt: skip
TOKEN: Final = re.compile(r"\w+_token_(ids?|index)")  # ids of special tokens

# Keys of a decoder's layers. A head without attention has none of them, so they change nothing in
# it; files often repeat those of their target.
DECODER: Final = frozenset((
    *WINDOW_KEYS, *ACTIVATIONS, "head_dim", "hidden_size", "intermediate_size", "mlp_bias",
    "num_attention_heads", "num_hidden_layers", "num_key_value_heads", "rms_norm_eps",
    "rope_parameters", "rope_scaling", "rope_theta", "vocab_size",
))  # fmt: skip


def check_keys(
    name: str,
    config: Mapping[str, Any],
    read: Collection[str],
    implemented: Mapping[str, tuple[Any, ...]] | None = None,
) -> None:
    """Check that a config asks for nothing that is not computed.

    Raises Unsuitable, naming the first key that asks for something else, or that is unknown.

    Args:
        name: Name of the head in error messages.
        config: Contents of config.json, after the conversion of its layout.
        read: Keys that the caller reads.
        implemented: Entries that differ from `IMPLEMENTED` for a family.
    """
    values = {**IMPLEMENTED, **(implemented or {})}
    if not WINDOW_KEYS.issubset(read):
        check_windows(name, config)
    for key, value in flat_items(config):
        part = key.rpartition(".")[2]
        if value is None or part in WINDOW_KEYS or part in ACTIVATIONS or part in read:
            continue
        if part in values:
            if value not in values[part]:
                raise Unsuitable(f"{name!r} sets {key} to {value!r:.80}, which is not supported.")
        elif not (part in IN_TENSORS or part in HARMLESS or TOKEN.fullmatch(part)):
            raise Unsuitable(
                f"{name!r} sets {key} in its config.json, which is not known here; it may ask for "
                "a computation that is not supported."
            )


def check_windows(name: str, config: Mapping[str, Any]) -> None:
    """Check that no layer attends only to a window or a chunk of the text.

    A window size alone counts as a window, since some programs then use it. Windows that are
    switched off, by `use_sliding_window`, `use_swa` or `layer_types`, are common and fine;
    `use_swa` overrides `layer_types`, as in vLLM. Raises Unsuitable if a layer has a window.
    """
    given = {key.rpartition(".")[2]: value for key, value in flat_items(config)}
    kinds = given.get("layer_types") or ()
    if not isinstance(kinds, list | tuple):
        raise Unsuitable(f"{name!r}: its layer_types are no list: {kinds!r:.80}.")
    other = next((kind for kind in kinds if kind != FULL), None)
    sized = any(given.get(key) is not None for key in WINDOW_SIZES)
    off = kinds or False in (given.get("use_sliding_window"), given.get("use_swa"))
    if other is not None and other != "sliding_attention":
        raise Unsuitable(f"{name!r} has layers of the type {other!r:.80}, which is not supported.")
    if other or given.get("use_swa") or (not kinds and given.get("use_sliding_window")):
        raise Unsuitable(f"{name!r} has layers with a sliding window, which are not supported.")
    if sized and not off:
        raise Unsuitable(
            f"{name!r} gives the size of a sliding window, which is not supported; "
            "if no layer uses it, add use_sliding_window: false to its config.json."
        )


def flat_items(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield all keys and values; those of the nested objects as `object.key`."""
    for key, value in config.items():
        if key in NESTED and isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", each) for inner, each in value.items())
        else:
            yield key, value


def check_activation(name: str, config: Mapping[str, Any]) -> None:
    """Check that a config's MLPs use silu, under any of its keys. Raises Unsuitable if not."""
    for key in ACTIVATIONS:
        if config.get(key) not in (None, *SILU):
            raise Unsuitable(
                f"{name!r} uses {config[key]!s:.80} in its MLP; only silu is supported."
            )
