"""Layouts of EAGLE's heads by SafeAILab, and of EAGLE-3's and P-EAGLE's heads by four programs.

EAGLE and EAGLE-2 have one layer without a norm before its attention: `fc.*`, `layers.0.*` and,
unless the target's are used, `embed_tokens.weight`; config.json is that of a Llama with one layer,
with `bias` false if fc has none.

EAGLE-3's layer reads an embedding beside a state. SafeAILab: `midlayer.*`, a flat config, and taps
2, L // 2 and L - 3. SpecForge: the same names; taps in `eagle_config`, counted from 0. speculators:
`layers.0.*`, the layer's config nested, taps as vLLM counts them: outputs of layers from 1.
DeepSpec: `layers.0.*`, a flat config, five taps as `target_layer_ids`, counted from 0, and every
token. P-EAGLE: more layers, and `mask_hidden`.

norm_output has two meanings: in speculators, a guess reads the output behind the norm; in
SpecForge, there is a norm before the output head, as in all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from specviz.drafters.common.layouts.layout import (
    Head,
    Layout,
    Names,
    any_is,
    with_attention_s_parts,
)
from specviz.models.errors import Unsuitable

AUX: Final = "eagle_aux_hidden_state_layer_ids"


def _by(algorithm: str, config: Mapping[str, Any]) -> bool:
    return config.get("speculators_model_type") == algorithm


def _parallel(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    return "mask_hidden" in names or _by("peagle", config) or "PEagleDraftModel" in kinds


def _speculators(config: Mapping[str, Any], names: Names) -> bool:
    return _by("eagle3", config)


def _specforge(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    return any_is(r"midlayer\.", names) and "LlamaForCausalLMEagle3" in kinds


def _deepspec(config: Mapping[str, Any], names: Names) -> bool:
    return "Qwen3Eagle3Model" in (config.get("architectures") or ())


def _safeailab(config: Mapping[str, Any], names: Names) -> bool:
    return any_is(r"midlayer\.", names)


def from_safeailab(head: Head) -> Head:
    """Return the head unchanged.

    Raises:
        Unsuitable: If it is unclear which layers it reads.
    """
    if AUX in head.config and "tap_layers" not in head.config:
        raise Unsuitable(
            f"{head.name!r} gives its tapped layers as {AUX}, which differs by one between "
            "programs. Add tap_layers to its config: the layers whose outputs it reads, from 1."
        )
    return with_attention_s_parts(head, "midlayer")


def from_specforge(head: Head) -> Head:
    """Count taps from 1.

    Raises:
        Unsuitable: For unsupported variants.
    """
    if head.config.get("norm_output") is False:
        raise Unsuitable(
            f"{head.name!r} has no norm before its output head, which is not supported."
        )
    return from_safeailab(_specforge_taps(head).without("norm_output"))


def _specforge_taps(head: Head) -> Head:
    inner = head.config.get("eagle_config") or {}
    if not isinstance(inner, Mapping):
        raise Unsuitable(f"{head.name!r}: its eagle_config is not a JSON object.")
    if inner.get("use_aux_hidden_state") is False:
        raise Unsuitable(
            f"{head.name!r} reads no inner layer of its target, which is not supported."
        )
    taps = inner.get(AUX)
    if taps is None or "tap_layers" in head.config:
        return head
    return head.with_config(tap_layers=_one_more(head.name, AUX, taps))


def from_speculators(head: Head) -> Head:
    """Merge the nested config into the outer one; `layers.0` becomes `midlayer`."""
    inner = head.config.get("transformer_layer_config")
    if not isinstance(inner, Mapping):
        raise Unsuitable(f"{head.name!r} has no transformer_layer_config in its config.json.")
    if AUX in head.config:
        head = head.with_config(tap_layers=head.config[AUX])
    head = replace(head.without("transformer_layer_config"), config={**inner, **head.config})
    narrow = head.config.get("target_hidden_size") not in (None, head.config.get("hidden_size"))
    if _by("eagle3", head.config) and not narrow and not head.config.get("embed_requires_grad"):
        # A copy of the target's embeddings. Some exporters left it random, so the target's own
        # are used.
        kept = {k: v for k, v in head.tensors.items() if k != "embed_tokens.weight"}
        head = replace(head, tensors=kept)
    return with_attention_s_parts(head.renamed((r"^layers\.0\.", "midlayer.")), "midlayer")


def from_deepspec(head: Head) -> Head:
    """Count taps from 1; its copies of the target's embeddings and projection are used as they are.

    Raises:
        Unsuitable: If its taps are missing.
    """
    taps = _one_more(head.name, "target_layer_ids", head.config.get("target_layer_ids"))
    head = head.with_config(tap_layers=taps).renamed((r"^layers\.0\.", "midlayer."))
    return with_attention_s_parts(head, "midlayer")


def from_parallel(head: Head) -> Head:
    """Convert a P-EAGLE head of speculators or SpecForge; `layers.1` and later become `later`.

    vLLM's names for mask_token_id are accepted too.
    """
    if "transformer_layer_config" in head.config:
        methods = _proposals(head.config)
        head = from_speculators(head).with_config(speculative_tokens=methods)
    else:
        head = _specforge_taps(head)
    token = next((head.config[k] for k in MASKS if head.config.get(k) is not None), None)
    head = head.with_config(mask_token_id=token)
    renamed = head.renamed((r"^layers\.0\.", "midlayer."), (r"^layers\.", "later."))
    numbered = {_one_less(key): tensor for key, tensor in renamed.tensors.items()}
    if "mask_hidden" in numbered:
        numbered["mask_hidden"] = numbered["mask_hidden"].flatten()
    return with_attention_s_parts(replace(renamed, tensors=numbered), "midlayer")


MASKS: Final = ("mask_token_id", "ptd_token_id", "pard_token")


def _one_less(name: str) -> str:
    """Rename `later.1.x` to `later.0.x`: our first later layer is the file's second layer."""
    first, _, rest = name.removeprefix("later.").partition(".")
    return f"later.{int(first) - 1}.{rest}" if name.startswith("later.") else name


def _proposals(config: Mapping[str, Any]) -> int | None:
    """Return how many tokens the head was trained to predict.

    None if the config does not say.
    """
    try:
        count = config["speculators_config"]["proposal_methods"][0]["speculative_tokens"]
    except (KeyError, IndexError, TypeError):
        return None
    return count if type(count) is int and count > 0 else None


def _one_more(name: str, key: str, taps: Any) -> list[int]:
    if not isinstance(taps, list) or not all(type(k) is int for k in taps):
        raise Unsuitable(f"{name!r}: its {key} are not layer numbers: {taps!r:.80}.")
    return [k + 1 for k in taps]


EAGLE3_DRAFTER: Final = "specviz.drafters.eagle.drafter:Eagle3"
EAGLE3: Final = (
    Layout(
        "P-EAGLE", "p-eagle", "specviz.drafters.eagle.parallel:PEagle", _parallel, from_parallel
    ),
    Layout("EAGLE-3 (speculators)", "eagle3", EAGLE3_DRAFTER, _speculators, from_speculators),
    Layout("EAGLE-3 (SpecForge)", "eagle3", EAGLE3_DRAFTER, _specforge, from_specforge),
    Layout("EAGLE-3 (DeepSpec)", "eagle3", EAGLE3_DRAFTER, _deepspec, from_deepspec),
    Layout("EAGLE-3 (SafeAILab)", "eagle3", EAGLE3_DRAFTER, _safeailab, from_safeailab),
)


def _eagle(config: Mapping[str, Any], names: Names) -> bool:
    one_layer = any_is(r"fc\.", names) and any_is(r"layers\.0\.", names)
    return one_layer and not any_is(r"layers\.0\.hidden_norm\.", names)


def _from_eagle(head: Head) -> Head:
    return with_attention_s_parts(head, "layers.0")


EAGLE1: Final = (
    Layout(
        "EAGLE (SafeAILab)", "eagle", "specviz.drafters.eagle.drafter:Eagle2", _eagle, _from_eagle
    ),
)
