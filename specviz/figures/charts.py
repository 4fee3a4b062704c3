"""Bar charts: p and q of every guess, and the distribution that a last token is sampled from.

The horizontal axis is a probability; its margins have fixed widths, so a chart may be drawn
narrower than WIDTH. The vertical axis is in pixels. `alt` says in words what a chart shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from specviz.figures.plot import Trace, cut, texts
from specviz.figures.tree import DrawnTree, step_tree
from specviz.frames import Frame
from specviz.frames.frame import FrameParts
from specviz.frames.inspector import Panel
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Chart, flat


class DrawnFrame(FrameParts):
    """Everything that the screen shows at a step, with the tree drawn."""

    tree: DrawnTree


def add_figures(frame: Frame) -> DrawnFrame:
    """Add the drawn tree to a frame and, if its panel has a chart, the figure."""
    drawn = cast("DrawnFrame", dict(frame))
    drawn["tree"] = step_tree(frame["tree"])
    panel = frame["panel"]
    if panel["kind"] == "guesses":
        drawn["panel"] = _charted(panel, guesses_figure(panel))
    elif panel["kind"] in ("draw", "empty"):
        drawn["panel"] = _charted(panel, distribution_figure(panel))
    return drawn


def _charted(panel: Panel, figure: Chart) -> Panel:
    """Replace a panel's rows by their chart."""
    rest = {key: value for key, value in panel.items() if key != "rows"}
    return cast("Panel", rest | {"figure": figure})


Row = Mapping[str, Any]


WIDTH: Final = 552
LABEL_WIDTH: Final = 104
NUMBER_WIDTH: Final = 64
GUESS_HEIGHT: Final = 32
TOKEN_HEIGHT: Final = 22
# Moves the numbers of p up and of q down, since they are close to each other in a low window.
APART: Final = {"p": -2.0, "q": 3.0}
ABOVE: Final = 4.0  # space above the first bar, whose number is higher than the bar
BARS: Final = (  # a guess's marks: key, y within its row, colours of fill, outline and number
    ("p", 8.0, "--p", "--p", "--p-ink"),
    ("q", 21.0, "--q", "--q-line", "--q-ink"),
    ("soft", GUESS_HEIGHT / 2, "rgba(0,0,0,0)", "--dead", "--ink2"),
    ("score", GUESS_HEIGHT / 2, "--q-soft", "--q-line", "--q-ink"),
)


GAP: Final = "\u00a0\u00a0"  # between a bar and its label; plotly removes ordinary spaces


def guesses_figure(panel: Mapping[str, Any]) -> Chart:
    """Draw one row per guess: q once it is drafted, p (or the softmax) once it is scored.

    If there is no q, a paler bar shows the drafter's confidence.
    """
    shown: Sequence[Row] = panel["rows"]
    has_q = any("q" in row for row in shown)
    data: dict[str, Trace] = {"20-words": _labels([_guess(row) for row in shown], GUESS_HEIGHT)}
    for at, row in enumerate(shown):  # adds space for a second line under a repeated token
        if "after" in row:
            data["20-words"]["y"][at] = at * GUESS_HEIGHT + 9
    data["21-after"] = texts(_after(shown), 12, "middle left")
    for order, (name, y, fill, edge, ink) in enumerate(BARS):
        middle = y if has_q else GUESS_HEIGHT / 2
        found = [
            (row[name], at * GUESS_HEIGHT + middle) for at, row in enumerate(shown) if name in row
        ]
        data[f"1{order}-{name}"] = bars(found, 10, fill, edge)
        apart = APART.get(name, 0.0)
        data[f"3{order}-{name}"] = _numbers([(value, y + apart) for value, y in found], ink)
    alt = "; ".join(f"{_spoken_guess(row)}: {_spoken_numbers(row)}" for row in shown)
    return _chart(data, len(shown) * GUESS_HEIGHT, alt)


def distribution_figure(panel: Mapping[str, Any]) -> Chart:
    """Draw the distribution that a bonus or plain token is sampled from, one bar per token.

    The sampled token's bar is filled. Outlines, if any, show the softmax at temperature 1.
    """
    rows: Sequence[Row] = panel["rows"]
    places = [at * TOKEN_HEIGHT + TOKEN_HEIGHT / 2 for at in range(len(rows))]
    pairs = list(zip(rows, places, strict=True))
    others = [(row["p"], y) for row, y in pairs if not row.get("hit")]
    hit = [(row["p"], y) for row, y in pairs if row.get("hit")]
    soft = [(row["soft"], y) for row, y in pairs if "soft" in row]
    reach = [(max(row["p"], row.get("soft", 0.0)), y) for row, y in pairs]
    data = {
        "10-bars": bars(others, 12, "--p-soft", "--p"),
        "11-hit": bars(hit, 12, "--p", "--p"),
        "12-soft": bars(soft, 16, "rgba(0,0,0,0)", "--dead"),
        "20-words": _labels([_token(row) for row in rows], TOKEN_HEIGHT),
        "30-numbers": _numbers(reach, "--p-ink", [format_nonzero(row["p"]) for row in rows]),
    }
    alt = "; ".join(_spoken_token(row) for row in rows)
    return _chart(data, len(rows) * TOKEN_HEIGHT, alt)


def bars(pairs: Sequence[tuple[float, float]], thick: float, fill: str, edge: str) -> Trace:
    """Return horizontal bars.

    Args:
        pairs: The probability of each bar, and its y in pixels.
        thick: Thickness in pixels.
        fill: Fill colour.
        edge: Outline colour.
    """
    return {
        "type": "bar",
        "x": [value for value, _ in pairs],
        "y": [y for _, y in pairs],
        "width": thick,
        "marker": {"color": fill, "line": {"color": edge, "width": 1}},
    }


SPOKEN: Final = {"p": "p", "q": "q", "soft": "p at temperature 1", "score": "confidence"}


def _spoken_guess(row: Row) -> str:
    after = f" after {flat(row['after'])}" if "after" in row else ""
    return f"+{row['at']} {flat(row['w'])}{after}"


def _spoken_numbers(row: Row) -> str:
    known = [f"{name} {format_nonzero(row[key])}" for key, name in SPOKEN.items() if key in row]
    return ", ".join(known) or "no probability"


def _spoken_token(row: Row) -> str:
    name = f"{row['rest']:,} others" if "rest" in row else flat(row["w"])
    return f"{name}: {_spoken_numbers(row)}{', sampled' if row.get('hit') else ''}"


def _guess(row: Row) -> tuple[str, str]:
    return cut(f"+{row['at']} {flat(row['w'])}", 13, LABEL_WIDTH - 10), "--ink"


def _after(rows: Sequence[Row]) -> list[tuple[float, float, str, str]]:
    """Label each token that occurs several times with the token before it."""
    named = [(at, flat(row["after"])) for at, row in enumerate(rows) if "after" in row]
    max_width = LABEL_WIDTH - 10
    return [
        (0.0, at * GUESS_HEIGHT + 24.0, cut(f"after {word}", 12, max_width) + GAP, "--ink2")
        for at, word in named
    ]


def _token(row: Row) -> tuple[str, str]:
    if "rest" in row:
        return f"{row['rest']:,} others", "--ink2"
    return cut(flat(row["w"]), 13, LABEL_WIDTH - 10), "--ink"


def _labels(words: Sequence[tuple[str, str]], pitch: float) -> Trace:
    """Return labels, right-aligned to where the bars begin."""
    rows = [(0.0, at * pitch + pitch / 2, text + GAP, ink) for at, (text, ink) in enumerate(words)]
    return texts(rows, 13, "middle left")


def _numbers(
    pairs: Sequence[tuple[float, float]], ink: str, labels: Sequence[str] | None = None
) -> Trace:
    """Return numbers at the ends of the bars."""
    labels = labels or [format_nonzero(value) for value, _ in pairs]
    rows = [(0.0, y, GAP + text, ink) for (_, y), text in zip(pairs, labels, strict=True)]
    return texts(rows, 12, "middle right") | {"x": [value for value, _ in pairs]}


def _chart(data: dict[str, Trace], height: float, alt: str) -> Chart:
    end = max(height, 6 * GUESS_HEIGHT) + 4
    return {
        "data": data, "width": WIDTH, "height": end + ABOVE, "y": (end, -ABOVE),
        "margins": (LABEL_WIDTH, NUMBER_WIDTH), "alt": alt,
    }  # fmt: skip
