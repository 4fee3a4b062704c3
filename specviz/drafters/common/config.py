"""Configs of EAGLE-like heads, with the keys of the public checkpoints.

A config is refused if it requires a computation that is not implemented, or has a key that is not
known; see `config_keys`. Written configs have the keys that vLLM reads; the documentation lists
which heads vLLM loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Final, Self

from specviz.adapters.transformers import rope_parameters
from specviz.drafters.common.checkpoint import rope_theta
from specviz.drafters.common.config_keys import check_activation, check_keys
from specviz.drafters.common.layouts import Head
from specviz.models.checkpoint import MadeFor
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

NEEDED: Final = ("hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")
ALSO_READ: Final = frozenset(  # keys that are read, but are no fields
    ("num_hidden_layers", "num_target_layers", "rope_parameters")
)
TYPES: Final[Mapping[str, set[type]]] = {  # types of values, by annotation
    "int": {int},
    "int | None": {int, type(None)},
    "float": {int, float},
    "bool": {bool},
}
ROPE_KEYS: Final = frozenset((  # keys that transformers reads for these types
    "attention_factor", "beta_fast", "beta_slow", "factor", "high_freq_factor", "low_freq_factor",
    "mscale", "mscale_all_dim", "original_max_position_embeddings", "rope_theta", "rope_type",
    "truncate", "type",
    "mrope_interleaved", "mrope_section",  # for text alone, all sections have the same positions
))  # fmt: skip
ROPES: Final = ("linear", "llama3", "yarn")  # rope types that need only the config


@dataclass(frozen=True)
class HeadConfig:
    """Config of a head with one Llama layer as wide as the target.

    Attributes:
        omitted_if_empty: Keys that are left out of the file if their values are empty.
        implemented: Values of further keys that the network computes, see `check_keys`.
        made_for: Hashes of the target's weights, see `MadeFor`. Only specviz writes this
            key. Without it, as in public heads, only shapes are compared.
        max_position_embeddings: The target's value, written for other programs; not used
            here.
        head_norms: Whether queries and keys are normed per head, as in Qwen3. Inferred from
            the names of the tensors (see `layouts`).
        biases: Attention projections that have a bias; inferred like `head_norms`.
        rope_scaling: Scaling of the rotary angles, in transformers' format; None for none.
    """

    architectures: ClassVar[tuple[str, ...]] = ("LlamaForCausalLM",)
    omitted_if_empty: ClassVar[frozenset[str]] = frozenset(
        ("made_for", "max_position_embeddings", "rope_scaling", "head_norms", "biases")
    )

    implemented: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    made_for: MadeFor = None
    max_position_embeddings: int | None = None
    head_norms: bool = False
    biases: tuple[str, ...] = ()
    rope_scaling: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json. Raises Unsuitable if a key is missing, invalid or not implemented."""
        for key in NEEDED:
            if type(data.get(key)) is not int or data[key] < 1:
                raise Unsuitable(f"{name!r}: its config.json gives no whole number for {key}.")
        known = {field.name for field in fields(cls)}
        defaults = {
            "num_key_value_heads": data["num_attention_heads"],
            "head_dim": data["hidden_size"] // data["num_attention_heads"],
        }
        given = {key: data[key] for key in known & data.keys() if data[key] is not None}
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        if data.get("num_hidden_layers", 1) != 1:
            raise Unsuitable(
                f"{name!r} has {data['num_hidden_layers']} layers; EAGLE heads have one."
            )
        check_activation(name, data)
        check_keys(name, data, known | ALSO_READ, cls.implemented)
        config = cls(**(defaults | given | rope_of(name, data)))
        _check_numbers(name, config)
        return config

    @classmethod
    def like(cls, target: Target, **changes: Any) -> Self:
        """Return a config for a new head: one layer as wide as the target, angles not scaled."""
        model = target.model.config
        shared = {field.name for field in fields(HeadConfig)} & set(dir(model)) - {"rope_scaling"}
        given = {key: getattr(model, key) for key in shared} | {"vocab_size": target.vocab_size}
        theta = rope_theta(target.model)
        return cls(**(given | {"rope_theta": theta, "made_for": target.card.hash} | changes))

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json."""
        common = {
            "architectures": list(self.architectures),
            "model_type": "llama",
            "hidden_act": "silu",
            "num_hidden_layers": 1,
            "tie_word_embeddings": False,
        }
        return common | {
            k: v for k, v in asdict(self).items() if v or k not in self.omitted_if_empty
        }

    @property
    def input_width(self) -> int:
        """Width of the hidden states that the head reads."""
        return self.hidden_size

    def check_fit(self, name: str, target: Target) -> None:
        """Check that the target is as wide, with at least as many tokens. Raises Unsuitable."""
        check_sizes(name, self.input_width, self.vocab_size, target)


def _check_numbers(name: str, config: HeadConfig) -> None:
    for field in fields(config):
        value, types = getattr(config, field.name), TYPES.get(str(field.type))
        if types is not None and type(value) not in types:
            raise Unsuitable(f"{name!r}: {field.name} cannot be {value!r:.80}.")
    check_heads(name, config, "attention")


def check_heads(name: str, config: HeadConfig, block: str) -> None:
    """Check that key heads divide query heads and that head sizes are even. Raises Unsuitable."""
    shared, size = config.num_key_value_heads, config.head_dim
    valid = shared >= 1 and config.num_attention_heads % shared == 0
    if not valid or type(size) is not int or size < 2 or size % 2:
        raise Unsuitable(f"{name!r}: the heads of its {block} do not fit together.")


def check_sizes(name: str, width: int, vocabulary: int, target: Target) -> None:
    """Check that a head is as wide as the target, with at most its tokens. Raises Unsuitable."""
    wide = target.model.config.get_text_config().hidden_size
    if width != wide:
        raise Unsuitable(
            f"{name!r} reads states of width {width:,}; "
            f"those of {target.card.name!r} have {wide:,}."
        )
    if vocabulary > target.vocab_size:
        raise Unsuitable(
            f"{name!r} knows {vocabulary:,} tokens; "
            f"{target.card.name!r} knows {target.vocab_size:,}."
        )


def read_taps(found: Head, taps: Sequence[int], last: int) -> tuple[int, ...]:
    """Return the layers whose outputs a head reads, given those that its config lists.

    Some programs also list the target's last layer, whose output serves as the target of training.
    It is left out if fc reads one layer less than is listed. last: the target's last layer, counted
    as in `taps`.
    """
    fc = found.tensors.get("fc.weight")
    wide = found.config.get("target_hidden_size") or found.config.get("hidden_size")
    if fc is None or fc.dim() != 2 or type(wide) is not int or taps[-1] != last:
        return tuple(taps)
    return tuple(taps[:-1] if fc.shape[1] == (len(taps) - 1) * wide else taps)


def check_depth(name: str, layers: int, target: Target) -> None:
    """Check that a head was made for a target of this depth. Raises Unsuitable if not."""
    if layers != target.layers:
        raise Unsuitable(
            f"{name!r} was made for a target of {layers} layers; "
            f"{target.card.name!r} has {target.layers}."
        )


def rope_of(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return rope_theta (default 10,000) and rope_scaling from any key that may contain them.

    If several keys do, the one that transformers uses counts. Raises Unsuitable if the positions
    are invalid or their scaling is not implemented.
    """
    for key in ("rope_parameters", "rope_scaling"):
        _check_rope(name, key, data.get(key) or {})
    try:
        rope = rope_parameters(data)
        theta = float(rope.get("rope_theta") or 10_000.0)
    except (TypeError, ValueError) as error:
        raise Unsuitable(f"{name!r}: its rotary positions are invalid: {error!s:.200}") from error
    scaled = rope["rope_type"] != "default"
    return {"rope_theta": theta, "rope_scaling": rope if scaled else None}


def _check_rope(name: str, key: str, rope: Any) -> None:
    if not isinstance(rope, Mapping) or any(isinstance(v, Mapping) for v in rope.values()):
        raise Unsuitable(f"{name!r}: its rotary positions differ between kinds of layers.")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", *ROPES):
        raise Unsuitable(
            f"{name!r} scales its rotary positions ({kind}), which is not supported here."
        )
    for part, value in rope.items():
        if part not in ROPE_KEYS and not (part == "partial_rotary_factor" and value in (None, 1)):
            raise Unsuitable(f"{name!r} sets {key}.{part}, which is not supported here.")
        if isinstance(value, str) and part not in ("type", "rope_type"):
            raise Unsuitable(f"{name!r}: {key}.{part} must be a number, not {value!r:.80}.")
