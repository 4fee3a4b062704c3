"""What config.json says of an EAGLE head, by the keys of the public checkpoints.

Rule: what would change the numbers and is not built here is refused; all else is ignored. What is
written has the keys that vLLM's loaders read; which folders serve there, the README says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Final, Self

from specviz.drafters.common.checkpoint import rope_theta
from specviz.models.checkpoint import MadeFor
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

NEEDED: Final = ("hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")
TYPES: Final[Mapping[str, set[type]]] = {  # by a field's annotation
    "int": {int},
    "int | None": {int, type(None)},
    "float": {int, float},
    "bool": {bool},
}
ROPES: Final = ("linear", "llama3", "yarn")  # whose rates follow from the config alone


@dataclass(frozen=True)
class HeadConfig:
    """One Llama layer as wide as the target. made_for: see `MadeFor`.

    made_for is a key of our own; public heads lack it, and then only shapes are compared.
    head_norms: Qwen3's norms of queries and keys, by head. biases: which projections of its
    attention have one. Both are told by the tensors' names (see `layouts`). rope_scaling: as
    transformers has it, None for none. max_position_embeddings is the target's, for other programs;
    nothing here ends there.

    architectures: by vLLM's register. quiet: keys that are not written where they say nothing.
    """

    architectures: ClassVar[tuple[str, ...]] = ("LlamaForCausalLM",)
    quiet: ClassVar[frozenset[str]] = frozenset(
        ("made_for", "max_position_embeddings", "rope_scaling", "head_norms", "biases")
    )

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
        """From config.json as read; errors call the head `name`. Raises Unsuitable."""
        for key in NEEDED:
            if type(data.get(key)) is not int or data[key] < 1:
                raise Unsuitable(f"{name!r}: its config.json gives no whole number for {key}.")
        known = {field.name for field in fields(cls)}
        usual = {
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
        config = cls(**(usual | given | rope_of(name, data)))
        _check_numbers(name, config)
        return config

    @classmethod
    def like(cls, target: Target, **changes: Any) -> Self:
        """A head of the house size for this target: one layer, as wide, and made for it.

        Its positions are not scaled, whatever the target's are.
        """
        model = target.model.config
        shared = {field.name for field in fields(HeadConfig)} & set(dir(model)) - {"rope_scaling"}
        given = {key: getattr(model, key) for key in shared} | {"vocab_size": target.vocab_size}
        theta = rope_theta(target.model)
        return cls(**(given | {"rope_theta": theta, "made_for": target.card.hash} | changes))

    def to_json(self) -> dict[str, Any]:
        """For config.json."""
        common = {
            "architectures": list(self.architectures),
            "model_type": "llama",
            "hidden_act": "silu",
            "num_hidden_layers": 1,
            "tie_word_embeddings": False,
        }
        return common | {k: v for k, v in asdict(self).items() if v or k not in self.quiet}

    @property
    def reads(self) -> int:
        """How wide the target's states are."""
        return self.hidden_size

    def check_fit(self, name: str, target: Target) -> None:
        """Raise Unsuitable where the target has another width or vocabulary."""
        check_sizes(name, self.reads, self.vocab_size, target)


def _check_numbers(name: str, config: HeadConfig) -> None:
    """Raise Unsuitable where a field is of another type, or heads cannot be shared."""
    for field in fields(config):
        value, types = getattr(config, field.name), TYPES.get(str(field.type))
        if types is not None and type(value) not in types:
            raise Unsuitable(f"{name!r}: {field.name} cannot be {value!r:.80}.")
    shared, size = config.num_key_value_heads, config.head_dim
    if shared < 1 or config.num_attention_heads % shared or size < 2 or size % 2:
        raise Unsuitable(f"{name!r}: the heads of its attention do not fit together.")


def check_sizes(name: str, width: int, vocabulary: int, target: Target) -> None:
    """Raise Unsuitable where a head's width is not the target's, or it knows more tokens."""
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


def check_depth(name: str, layers: int, target: Target) -> None:
    """Raise Unsuitable where a head was made for a target of another depth."""
    if layers != target.layers:
        raise Unsuitable(
            f"{name!r} was made for a target of {layers} layers; "
            f"{target.card.name!r} has {target.layers}."
        )


def rope_of(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """rope_theta and rope_scaling, wherever a config says them. Raises Unsuitable.

    The base is 10,000 where it is not said, whatever the target's is.
    """
    rope = data.get("rope_parameters") or data.get("rope_scaling") or {}
    if not isinstance(rope, Mapping) or any(isinstance(v, Mapping) for v in rope.values()):
        raise Unsuitable(f"{name!r}: its rotary positions are not those of one kind of layer.")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", *ROPES):
        raise Unsuitable(f"{name!r} scales its rotary positions ({kind}), which is not built here.")
    theta = float(data.get("rope_theta") or rope.get("rope_theta") or 10_000.0)
    scaling = None if kind == "default" else {**rope, "rope_type": kind, "rope_theta": theta}
    return {"rope_theta": theta, "rope_scaling": scaling}


def check_activation(name: str, data: Mapping[str, Any]) -> None:
    """Raise Unsuitable for an MLP of another build."""
    if data.get("hidden_act", "silu") != "silu":
        raise Unsuitable(f"{name!r} uses {data['hidden_act']} in its MLP, and only silu is built.")
