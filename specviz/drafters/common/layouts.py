"""Published layouts of heads: how to recognize each, and how to map it to our networks.

A layout only renames tensors and converts config values. It does not build networks, and it never
drops a tensor without a stated reason.

- EAGLE and EAGLE-2 (SafeAILab) have one layer without a norm before its attention: `fc.*`,
  `layers.0.*` and, unless the target's are used, `embed_tokens.weight`. config.json is that of a
  Llama with one layer, with `bias` false if fc has none.
- EAGLE-3's layer reads an embedding together with a hidden state. Taps are the target's layers
  whose outputs a head reads. SafeAILab: `midlayer.*`, a flat config, and taps 2, L // 2 and L - 3.
  SpecForge: the same names; taps in `eagle_config`, counted from 0, as are other options. NVIDIA's
  ModelOpt: that config, with `layers.0.*` and without t2d. speculators: `layers.0.*`, the
  layer's config nested, taps counted as in vLLM: outputs of layers from 1. DeepSpec: `layers.0.*`,
  a flat config, five taps as `target_layer_ids`, counted from 0, and a draft vocabulary of all
  tokens. P-EAGLE: more layers, and `mask_hidden`.
- norm_output has two meanings. In speculators, the next step reads the output after the norm. In
  SpecForge, it is the norm before the output head, which all other programs have too.
- Medusa: FasterDecoding's `{i}.{j}.linear.*` and `{i}.{layers}.weight`; the second version, for
  TGI, has no projections (all heads use the target's). vLLM: `blocks.{i}.layers.{j}.*` and
  `lm_heads.{i}.weight`, or one `lm_head.weight` for all.
- DFlash2: z-lab's, or speculators', with the layers' config nested. JetSpec is DFlash's layout with
  `causal_head` in its config.
- The other families have one published layout, which is also ours: DFlash (z-lab), MTP
  (DeepSeek-V3's modules without their model), L-MTP, Mixture of Attentions, Meta's parallel heads.
  Blockwise heads were never published; their names are tensor2tensor's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from specviz.models.errors import Unsuitable


@dataclass(frozen=True)
class Head:
    """The files of a head."""

    name: str
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    def with_config(self, **changes: Any) -> Head:
        """Return a head with the same tensors and some config keys changed."""
        return replace(self, config={**self.config, **changes})

    def without(self, *keys: str) -> Head:
        """Return a head with the same tensors and a config without these keys."""
        kept = {key: value for key, value in self.config.items() if key not in keys}
        return replace(self, config=kept)

    def renamed(self, *rules: tuple[str, str]) -> Head:
        """Return a head with the same config and renamed tensors.

        Raises Unsuitable if two tensors would get one name.
        """
        found: dict[str, Tensor] = {}
        for old, tensor in self.tensors.items():
            new = old
            for pattern, become in rules:
                new = re.sub(pattern, become, new)
            if new in found:
                raise Unsuitable(f"{self.name!r} has a tensor twice, the second time as {old}.")
            found[new] = tensor
        return replace(self, tensors=found)


Names = Collection[str]


def unchanged(head: Head) -> Head:
    """Return a head that is already in our own layout."""
    return head


@dataclass(frozen=True)
class Layout:
    """One way to publish the heads of a family.

    Attributes:
        title: Displayed name.
        family: Family of the network that this layout is for.
        drafter: "module:Class" of the default drafter.
        matches: Returns whether (config, tensor names) have this layout; the first layout that
            matches is used.
        convert: Converts a head to our keys and names; raises Unsuitable for unsupported variants.
    """

    title: str
    family: str
    drafter: str
    matches: Callable[[Mapping[str, Any], Names], bool]
    convert: Callable[[Head], Head] = unchanged


def with_attention_parts(head: Head, layer: str) -> Head:
    """Set head_norms and biases from the names of a layer's tensors, since no config contains them.

    If queries, keys or values have a bias, all three are expected to have one; if queries or keys
    have a norm, both are. A missing tensor is then reported.
    """
    parts = {name.removeprefix(f"{layer}.self_attn.") for name in head.tensors}
    inner = any(f"{part}_proj.bias" in parts for part in "qkv")
    biases = [*("q_proj", "k_proj", "v_proj")] if inner else []
    biases += ["o_proj"] if "o_proj.bias" in parts else []
    norms = {"q_norm.weight", "k_norm.weight"} & parts
    return head.with_config(head_norms=bool(norms), biases=biases)


def any_match(pattern: str, names: Names) -> bool:
    """Return whether any name starts with a match of the pattern."""
    return any(re.match(pattern, name) for name in names)


# Methods whose files are recognized and refused, and what they add to a DFlash block.
UNSUPPORTED: Final = {
    "XPress": "refines the guesses of a block in several parallel passes",
    "LiLiCorr": "chooses a path through a block's candidates by a learned correlator",
}


def check_supported(name: str, config: Mapping[str, Any], names: Names) -> None:
    """Check that a head is of no `UNSUPPORTED` method.

    Such a method's name is in the architecture, in the name of a config key, or in that of a
    tensor: `xpress_rank` and `xpress_head.*`, `lilicorr_num_layers` and `lilicorr.*`. Raises
    Unsuitable if it is of one.
    """
    inner = config.get("dflash_config")
    found = [*config, *(inner if isinstance(inner, Mapping) else ()), *names]
    found += [config.get("architectures"), config.get("speculators_model_type")]
    for method, does in UNSUPPORTED.items():
        if any(re.search(rf"(?i)(?<![a-z]){method}", str(each)) for each in found):
            raise Unsuitable(f"{name!r} is a head of {method}, which {does}: not supported.")


def _dflash(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    named = "dflash_config" in config or any("DFlash" in str(kind) for kind in kinds)
    return named or ("hidden_norm.weight" in names and any_match(r"layers\.0\.", names))


def _jetspec(config: Mapping[str, Any], names: Names) -> bool:
    inner = config.get("dflash_config")
    nested = isinstance(inner, Mapping) and inner.get("causal_head") is True
    return nested or config.get("causal_head") is True


def _dflash2(config: Mapping[str, Any], names: Names) -> bool:
    return any_match(r"candidate_selector\.", names)


def from_dflash2(head: Head) -> Head:
    """Convert a head of z-lab, or of speculators, which numbers the target's layers from 1.

    speculators also stores copies of the target's embeddings and output head, which are frozen in
    its training; they are left out. Raises Unsuitable for unsupported variants.
    """
    inner = head.config.get("transformer_layer_config")
    if inner is None:
        return head
    head = from_nested_layers(head, inner, "DFlash2DraftModel")
    if head.config.get("draft_vocab_size") not in (None, head.config.get("vocab_size")):
        raise Unsuitable(f"{head.name!r} has a smaller vocabulary, which is not supported.")
    trained = head.config.get("embed_requires_grad")
    copies = () if trained else ("embed_tokens.weight", "lm_head.weight")
    others = {name: tensor for name, tensor in head.tensors.items() if name not in copies}
    return replace(head, tensors=others).without("draft_vocab_size")


def _dspark(config: Mapping[str, Any], names: Names) -> bool:
    return "markov_head.markov_w1.weight" in names


def from_dspark(head: Head) -> Head:
    """Convert a head of DeepSpec or speculators (layers from 1).

    Raises Unsuitable for unsupported variants.
    """
    inner = head.config.get("transformer_layer_config")
    if inner is not None:
        head = from_nested_layers(head, inner, "DSparkDraftModel")
    if head.config.get("sample_from_anchor") is False:
        raise Unsuitable(f"{head.name!r} guesses nothing at the anchor, which is not supported.")
    if head.config.get("draft_vocab_size") not in (None, head.config.get("vocab_size")):
        raise Unsuitable(f"{head.name!r} has a smaller vocabulary, which is not supported.")
    head = head.without("draft_vocab_size")
    return head.with_config(own_vocabulary="embed_tokens.weight" in head.tensors)


def from_nested_layers(head: Head, inner: Any, architecture: str) -> Head:
    """Flatten speculators' config of a block drafter, with layers from 0.

    Raises Unsuitable if it is invalid.
    """
    if not isinstance(inner, Mapping):
        raise Unsuitable(f"{head.name!r}: transformer_layer_config is not a JSON object.")
    key = "aux_hidden_state_layer_ids"
    ids = [number - 2 for number in _count_from_one(head.name, key, head.config.get(key))]
    head = with_layer_config(head, inner).without(key)
    return head.with_config(architectures=[architecture], target_layer_ids=ids)


def with_layer_config(head: Head, inner: Mapping[str, Any]) -> Head:
    """Replace transformer_layer_config by its keys; other keys precede them unless null."""
    outer = head.without("transformer_layer_config").config
    given = {key: value for key, value in outer.items() if value is not None or key not in inner}
    return replace(head, config={**inner, **given})


def _mtp(config: Mapping[str, Any], names: Names) -> bool:
    modules = any_match(r"model\.layers\.\d+\.(enorm|hnorm|eh_proj)\.", names)
    return modules and "model.embed_tokens.weight" not in names


OTHERS: Final = (
    Layout(
        "PARD (AMD)", "pard", "specviz.drafters.pard:Pard", lambda config, _: "pard_token" in config
    ),
    Layout("DSpark (DeepSpec)", "dspark", "specviz.drafters.dspark:DSpark", _dspark, from_dspark),
    Layout(
        "DFlash2 (z-lab)", "dflash2", "specviz.drafters.dflash2:DFlash2", _dflash2, from_dflash2
    ),
    Layout("JetSpec", "jetspec", "specviz.drafters.jetspec:JetSpec", _jetspec),
    Layout("DFlash (z-lab)", "dflash", "specviz.drafters.dflash:DFlash", _dflash),
    Layout("MTP (DeepSeek)", "mtp", "specviz.drafters.mtp:MTP", _mtp),
    Layout(
        "L-MTP",
        "lmtp",
        "specviz.drafters.lmtp:LeapMTP",
        lambda config, names: any_match(r"heads\.\d+\.resblock\.", names),
    ),
    Layout(
        "Mixture of Attentions",
        "moa",
        "specviz.drafters.moa:Moa",
        lambda config, names: any_match(r"layer_self_attention\.", names),
    ),
    Layout(
        "multi-token prediction (Meta)",
        "mtp-parallel",
        "specviz.drafters.mtp_parallel:ParallelMTP",
        lambda config, names: any_match(r"extra_heads\.", names),
    ),
    Layout(
        "blockwise heads",
        "blockwise",
        "specviz.drafters.blockwise:Blockwise",
        lambda config, names: any_match(r"conv[12]\.", names),
    ),
)


BLOCK: Final = r"^blocks\.(\d+)\.layers\.(\d+)\."


def _fasterdecoding(config: Mapping[str, Any], names: Names) -> bool:
    return any_match(r"\d+\.\d+\.linear\.", names)


def _vllm(config: Mapping[str, Any], names: Names) -> bool:
    return any_match(r"(medusa_heads\.)?blocks\.\d+\.layers\.\d+\.", names)


def from_vllm(head: Head) -> Head:
    """Convert to FasterDecoding's names; a block without a bias gets a bias of zeros."""
    layers = head.config.get("num_hidden_layers", head.config.get("medusa_num_layers", 1))
    heads = head.config.get("num_heads", head.config.get("medusa_num_heads", 1))
    head = head.renamed((r"^medusa_heads\.", ""), (BLOCK, r"\1.\2.linear."))
    head = head.renamed((r"^lm_heads\.(\d+)\.", rf"\1.{layers}."))
    tensors = dict(head.tensors)
    blocks = [name for name in tensors if any_match(r"\d+\.\d+\.linear\.weight$", [name])]
    for name in blocks:
        bias = name.removesuffix("weight") + "bias"
        tensors.setdefault(bias, torch.zeros(len(tensors[name]), dtype=tensors[name].dtype))
    if (shared := tensors.pop("lm_head.weight", None)) is not None:
        for number in {name.split(".")[0] for name in blocks}:
            tensors[f"{number}.{layers}.weight"] = shared
    converted = replace(head, tensors=tensors)
    return converted.with_config(medusa_num_layers=layers, medusa_num_heads=heads)


MEDUSA_DRAFTER: Final = "specviz.drafters.medusa:Medusa"
MEDUSA: Final = (
    Layout("Medusa (FasterDecoding, TGI)", "medusa", MEDUSA_DRAFTER, _fasterdecoding),
    Layout("Medusa (vLLM)", "medusa", MEDUSA_DRAFTER, _vllm, from_vllm),
)


AUX: Final = "eagle_aux_hidden_state_layer_ids"


def _by(algorithm: str, config: Mapping[str, Any]) -> bool:
    return config.get("speculators_model_type") == algorithm


def _parallel(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    with_mask = any(config.get(key) is not None for key in MASKS)
    with_mask &= any_match(r"(midlayer|layers\.0)\.hidden_norm\.", names)
    named = _by("peagle", config) or "PEagleDraftModel" in kinds
    return "mask_hidden" in names or named or with_mask


def _speculators(config: Mapping[str, Any], names: Names) -> bool:
    return _by("eagle3", config)


def _specforge(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    return any_match(r"midlayer\.", names) and "LlamaForCausalLMEagle3" in kinds


def _deepspec(config: Mapping[str, Any], names: Names) -> bool:
    return "Qwen3Eagle3Model" in (config.get("architectures") or ())


def _modelopt(config: Mapping[str, Any], names: Names) -> bool:
    kinds = config.get("architectures") or ()
    named = "LlamaForCausalLMEagle3" in kinds and any_match(r"layers\.0\.", names)
    return named or any_match(r"layers\.0\.hidden_norm\.", names)


def _safeailab(config: Mapping[str, Any], names: Names) -> bool:
    return any_match(r"midlayer\.", names)


def from_safeailab(head: Head) -> Head:
    """Convert a head with `midlayer`, perhaps with `eagle_config`.

    Raises Unsuitable if it is unclear which layers it reads.
    """
    return with_attention_parts(from_eagle_config(head), "midlayer")


def from_specforge(head: Head) -> Head:
    """Convert a SpecForge head. Raises Unsuitable for unsupported variants."""
    head = from_eagle_config(head)
    if head.config.get("norm_output") is False:
        raise Unsuitable(
            f"{head.name!r} has no norm before its output head, which is not supported."
        )
    return from_safeailab(head.without("norm_output"))


def from_modelopt(head: Head) -> Head:
    """Convert a head of NVIDIA's ModelOpt: rename `layers.0` to `midlayer`."""
    return from_safeailab(head.renamed((r"^layers\.0\.", "midlayer.")))


def from_eagle_config(head: Head) -> Head:
    """Replace `eagle_config` by flat keys, with taps counted from 1 instead of 0.

    Its options precede those of the same name outside it, as in vLLM. Raises Unsuitable if it is
    invalid, if the head reads no inner layer of its target, or if it is unclear which layers it
    reads.
    """
    inner = head.config.get("eagle_config") or {}
    if not isinstance(inner, Mapping):
        raise Unsuitable(f"{head.name!r}: its eagle_config is not a JSON object.")
    if inner.get("use_aux_hidden_state") is False:
        raise Unsuitable(
            f"{head.name!r} reads no inner layer of its target, which is not supported."
        )
    given = {key: value for key, value in inner.items() if key != AUX and value is not None}
    head = replace(head, config={**head.without("eagle_config").config, **given})
    taps = inner.get(AUX)
    if "tap_layers" in head.config:
        return head.without(AUX)
    if head.config.get(AUX):
        raise Unsuitable(
            f"{head.name!r} gives its tapped layers as {AUX}, which differs by one between "
            "programs. Add tap_layers to its config: the layers whose outputs it reads, from 1."
        )
    head = head.without(AUX)
    return (
        head
        if taps in (None, [])
        else head.with_config(tap_layers=_count_from_one(head.name, AUX, taps))
    )


def from_speculators(head: Head) -> Head:
    """Convert a speculators head: flatten the config, rename `layers.0` to `midlayer`."""
    inner = head.config.get("transformer_layer_config")
    if not isinstance(inner, Mapping):
        raise Unsuitable(f"{head.name!r} has no transformer_layer_config in its config.json.")
    if AUX in head.config:
        head = head.without(AUX).with_config(tap_layers=head.config[AUX])
    head = with_layer_config(head, inner)
    narrow = head.config.get("target_hidden_size") not in (None, head.config.get("hidden_size"))
    if _by("eagle3", head.config) and not narrow and not head.config.get("embed_requires_grad"):
        # A copy of the target's embeddings, which some exporters fill with random numbers; unused.
        others = {k: v for k, v in head.tensors.items() if k != "embed_tokens.weight"}
        head = replace(head, tensors=others)
    return with_attention_parts(head.renamed((r"^layers\.0\.", "midlayer.")), "midlayer")


def from_deepspec(head: Head) -> Head:
    """Convert a DeepSpec head: taps are counted from 1; all is kept.

    Raises Unsuitable if its taps are missing.
    """
    taps = _count_from_one(head.name, "target_layer_ids", head.config.get("target_layer_ids"))
    head = head.without("target_layer_ids").with_config(tap_layers=taps)
    head = head.renamed((r"^layers\.0\.", "midlayer."))
    return with_attention_parts(head, "midlayer")


def from_parallel(head: Head) -> Head:
    """Convert a P-EAGLE head of speculators or SpecForge; `layers.1` and later become `later`."""
    if "transformer_layer_config" in head.config:
        methods = _speculative_tokens(head.config)
        head = from_speculators(head).with_config(speculative_tokens=methods)
    else:
        head = from_eagle_config(head)
    token = next((head.config[k] for k in MASKS if head.config.get(k) is not None), None)
    head = head.without(*MASKS).with_config(mask_token_id=token)
    renamed = head.renamed((r"^layers\.0\.", "midlayer."), (r"^layers\.", "later."))
    numbered = {_renumber_later(key): tensor for key, tensor in renamed.tensors.items()}
    if "mask_hidden" in numbered:
        numbered["mask_hidden"] = numbered["mask_hidden"].flatten()
    return with_attention_parts(replace(renamed, tensors=numbered), "midlayer")


MASKS: Final = ("mask_token_id", "ptd_token_id", "pard_token")


def _renumber_later(name: str) -> str:
    # Our first "later" layer is the file's second: `later.1.x` becomes `later.0.x`.
    first, _, rest = name.removeprefix("later.").partition(".")
    return f"later.{int(first) - 1}.{rest}" if name.startswith("later.") else name


def _speculative_tokens(config: Mapping[str, Any]) -> int | None:
    try:
        count = config["speculators_config"]["proposal_methods"][0]["speculative_tokens"]
    except (KeyError, IndexError, TypeError):
        return None
    return count if type(count) is int and count > 0 else None


def _count_from_one(name: str, key: str, taps: Any) -> list[int]:
    if not isinstance(taps, list) or not all(type(k) is int for k in taps):
        raise Unsuitable(f"{name!r}: its {key} are not layer numbers: {taps!r:.80}.")
    return [k + 1 for k in taps]


EAGLE3_DRAFTER: Final = "specviz.drafters.eagle:Eagle3"
EAGLE3: Final = (
    Layout(
        "P-EAGLE", "p-eagle", "specviz.drafters.eagle.parallel:PEagle", _parallel, from_parallel
    ),
    Layout("EAGLE-3 (speculators)", "eagle3", EAGLE3_DRAFTER, _speculators, from_speculators),
    Layout("EAGLE-3 (SpecForge)", "eagle3", EAGLE3_DRAFTER, _specforge, from_specforge),
    Layout("EAGLE-3 (DeepSpec)", "eagle3", EAGLE3_DRAFTER, _deepspec, from_deepspec),
    Layout("EAGLE-3 (ModelOpt)", "eagle3", EAGLE3_DRAFTER, _modelopt, from_modelopt),
    Layout("EAGLE-3 (SafeAILab)", "eagle3", EAGLE3_DRAFTER, _safeailab, from_safeailab),
)


def _eagle(config: Mapping[str, Any], names: Names) -> bool:
    one_layer = any_match(r"fc\.", names) and any_match(r"layers\.0\.", names)
    return one_layer and not any_match(r"layers\.0\.hidden_norm\.", names)


def _from_eagle(head: Head) -> Head:
    return with_attention_parts(head, "layers.0")


EAGLE1: Final = (
    Layout("EAGLE (SafeAILab)", "eagle", "specviz.drafters.eagle:Eagle2", _eagle, _from_eagle),
)
