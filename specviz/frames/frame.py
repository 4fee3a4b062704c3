"""A frame: all that the screen shows at a cursor, as plain data. Pure: same trace, same frame.

Differences between frames are JSON merge patches (RFC 7386): objects merge key by key, everything
else is replaced, null removes. So a frame holds no null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.frames.caption import caption
from specviz.frames.inspector import inspector
from specviz.frames.scene import Cursor, Scene, Step
from specviz.frames.strip import chips
from specviz.frames.tree import tree
from specviz.frames.words import flat
from specviz.trace.file import Trace


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The patch that turns `old` into `new`."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := difference(before, value):
                patch[key] = inner
        elif key not in old or before != value:
            patch[key] = value
    return patch


def applied(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """`old` with `patch` applied; the player does the same."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            before = new.get(key)
            new[key] = applied(before if isinstance(before, dict) else {}, value)
        else:
            new[key] = value
    return new


Frame = dict[str, Any]


def frame(trace: Trace, cursor: Cursor) -> Frame:
    """The frame at a cursor. Raises IndexError where the trace has no such step."""
    scene = Scene.of(trace, cursor.round)
    return at(scene, scene.steps[cursor.step])


def frames(scene: Scene) -> list[Frame]:
    """All frames of a round, in order."""
    return [at(scene, step) for step in scene.steps]


def at(scene: Scene, step: Step) -> Frame:
    """The frame of one step."""
    return {
        "step": name(scene, step),
        "caption": caption(scene, step),
        "chips": chips(scene, step),
        "tree": tree(scene, step),
        "panel": inspector(scene, step),
    }


def name(scene: Scene, step: Step) -> dict[str, Any]:
    """What a step is called before it is seen (`next`) and after (`label`); `id` is for links."""
    match step.kind:
        case "propose":
            label = f"propose +{step.at}" if step.at else "propose"
            return {"id": f"propose-{step.at}", "kind": "propose", "label": label, "next": label}
        case "judge":
            judged = scene.round.judged[step.at]
            word = scene.word(scene.guesses[judged.node - 1].token)
            state = "accepted" if judged.accepted else "rejected"
            told = {"id": f"judge-{judged.node}", "kind": "judge", "label": flat(word)}
            return told | {"next": "judge ", "w": word, "is": state}
        case "draw":
            assert scene.round.drew is not None
            kind = scene.round.drew.kind
            label = "recover" if kind == "recovered" else kind
            return {"id": "draw", "kind": "draw", "label": label, "next": label}
        case _:
            return {"id": step.kind, "kind": step.kind, "label": step.kind, "next": step.kind}
