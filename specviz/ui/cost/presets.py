"""Dropdowns for a machine, a model, a number format and a drafter, which depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from specviz.cost import sources
from specviz.cost.sources import HEAD, drafters
from specviz.settings.settings import require


def dropdown(name: str, label: str, value: str, width: int = 160) -> gr.Dropdown:
    """Return a dropdown with all values that it can ever have.

    name: "hardware", "model", "dtype" or "drafter".
    """
    machines, models = sources.machines(), sources.models()
    choices = {
        "hardware": {name: one.title for name, one in machines.items()},
        "model": {name: one.title for name, one in models.items()},
        "dtype": {dtype: dtype for one in machines.values() for dtype in one.peak},
        "drafter": {name: title for model in models for name, title in _drafters(model).items()},
    }[name]
    wide = width // 160
    return gr.Dropdown(_pairs(choices), value=value, label=label, min_width=width, scale=wide)


def possible(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values with a number format of the machine and a drafter for the model.

    Impossible ones are replaced by the first possible ones. Also returns the dropdowns' updates:
    only possible choices, and a value only where it was replaced, since an answer may arrive after
    a link or a source has set another one. Raises ValueError for an unknown machine or model.
    """
    for name, known in (("hardware", sources.machines()), ("model", sources.models())):
        require(values[name] in list(known), f"No {name} is called {values[name]!r:.60} here.")
    dtypes = list(sources.machines()[values["hardware"]].peak)
    titles = _drafters(values["model"])
    dtype = values["dtype"] if values["dtype"] in dtypes else dtypes[0]
    drafter = values["drafter"] if values["drafter"] in list(titles) else HEAD
    found = {"dtype": dtype, "drafter": drafter}
    shown = {
        "dtype": gr.update(choices=[(name, name) for name in dtypes]),
        "drafter": gr.update(choices=_pairs(titles)),
    }
    for name, value in found.items():
        if value != values[name]:
            shown[name]["value"] = value
    return {**values, **found}, shown


def _drafters(model: str) -> dict[str, str]:
    return {name: title for name, (title, _) in drafters(model).items()}


def _pairs(choices: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(title, name) for name, title in choices.items()]
