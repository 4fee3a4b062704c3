"""A row of the table of layouts, and what the rows share.

A layout only renames tensors and converts config values. It knows no network, and leaves out no
tensor without a stated reason.
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
    """A head's files.

    Attributes:
        name: Name in error messages.
        config: Contents of config.json, as read or as `Layout.ours` returns them.
        tensors: Tensors by name, likewise.
    """

    name: str
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    def with_config(self, **changes: Any) -> Head:
        """Return the same tensors with changed keys."""
        return replace(self, config={**self.config, **changes})

    def without(self, *keys: str) -> Head:
        """Return the same tensors and a config without these keys."""
        kept = {key: value for key, value in self.config.items() if key not in keys}
        return replace(self, config=kept)

    def renamed(self, *rules: tuple[str, str]) -> Head:
        """Return the same config and renamed tensors.

        Args:
            *rules: Patterns and their replacements.

        Raises:
            Unsuitable: If two tensors would get one name.
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
    """Return a head of our own layout unchanged."""
    return head


@dataclass(frozen=True)
class Layout:
    """One way to publish the heads of a family.

    Attributes:
        title: Whose layout it is, for the user.
        family: Family of the network that reads it.
        drafter: "module:Class" of the default drafter.
        fits: Returns whether (config, tensor names) have this layout; the first row that fits is
            used.
        ours: Converts a head to our keys and names; raises Unsuitable for unsupported variants.
    """

    title: str
    family: str
    drafter: str
    fits: Callable[[Mapping[str, Any], Names], bool]
    ours: Callable[[Head], Head] = as_it_is


def with_attention_s_parts(head: Head, layer: str) -> Head:
    """Set head_norms and biases from the names of a layer's tensors; no config has them.

    If queries, keys or values have a bias, all three are expected to; if there is one norm, two are
    expected. So a missing one is reported.
    """
    parts = {name.removeprefix(f"{layer}.self_attn.") for name in head.tensors}
    inner = any(f"{part}_proj.bias" in parts for part in "qkv")
    biases = [*("q_proj", "k_proj", "v_proj")] if inner else []
    biases += ["o_proj"] if "o_proj.bias" in parts else []
    norms = {"q_norm.weight", "k_norm.weight"} & parts
    return head.with_config(head_norms=bool(norms), biases=biases)


def any_is(pattern: str, names: Names) -> bool:
    """Return whether a name matches the pattern at its start."""
    return any(re.match(pattern, name) for name in names)
