"""What a row of the table of layouts is, and what its files share.

Rule: a layout only renames and reckons: nothing of a network is known here, and no tensor is left
out but where a row says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from specviz.models.errors import Unsuitable


@dataclass(frozen=True)
class Head:
    """A head's files. name: what errors call it. config, tensors: as read, or as `Layout.ours`."""

    name: str
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    def with_config(self, **changes: Any) -> Head:
        """The same tensors, other keys."""
        return replace(self, config={**self.config, **changes})

    def without(self, *keys: str) -> Head:
        """The same tensors, and a config that does not say these keys."""
        kept = {key: value for key, value in self.config.items() if key not in keys}
        return replace(self, config=kept)

    def renamed(self, *rules: tuple[str, str]) -> Head:
        """The same config, and tensors under other names. rules: patterns, what they become.

        Raises Unsuitable where two would have one name.
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


def as_it_is(head: Head) -> Head:
    """For layouts that are our own."""
    return head


@dataclass(frozen=True)
class Layout:
    """One way to publish heads of a family.

    title: whose it is, for a person. family: of the network that reads it. drafter: "module:Class",
    which drafts with it where nobody said another. fits: (config, names of tensors) -> whether a
    folder is laid out so; a folder has the first row's that fits. ours: to our keys and names;
    raises Unsuitable for a variant that is not built.
    """

    title: str
    family: str
    drafter: str
    fits: Callable[[Mapping[str, Any], Names], bool]
    ours: Callable[[Head], Head] = as_it_is


def with_attention_s_parts(head: Head, layer: str) -> Head:
    """What a layer's attention has beyond Llama's: its tensors' names say it, no config does.

    Where queries, keys or values have a bias, all three have; where there is one norm, there are
    two: so one that is missing is missed.
    """
    parts = {name.removeprefix(f"{layer}.self_attn.") for name in head.tensors}
    inner = any(f"{part}_proj.bias" in parts for part in "qkv")
    biases = [*("q_proj", "k_proj", "v_proj")] if inner else []
    biases += ["o_proj"] if "o_proj.bias" in parts else []
    norms = {"q_norm.weight", "k_norm.weight"} & parts
    return head.with_config(head_norms=bool(norms), biases=biases)


def any_is(pattern: str, names: Names) -> bool:
    """Whether a name begins with what the pattern says."""
    return any(re.match(pattern, name) for name in names)
