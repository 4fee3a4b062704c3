"""Numbers of the Simple mode's picture: percentages add up, and hidden rows are summed."""

import pytest
from test_modules_in_node import node  # noqa: F401  (a fixture)

from specviz.frames.simple import percent

pytestmark = pytest.mark.slow
NAMES = ("p", "q", "both", "over", "miss")


def row(word, p, q, kind=""):
    miss = max(p - q, 0.0)
    masses = {"p": p, "q": q, "both": p - miss, "over": max(q - p, 0.0), "miss": miss}
    return {"w": word and [word], "is": kind, **masses}


ROWS = [
    row("to", 0.6351, 0.8470, "trial"),
    row("the", 0.1791, 0.0595),
    row("it", 0.0778, 0.0404),
    row("?", 0.0421, 0.0141),
    row("me", 0.0287, 0.0139, "drawn"),
    row("your", 0.0106, 0.0044),
    row(None, 0.0266, 0.0207),
]


@pytest.mark.parametrize("most", [3, 5, 7, 9])
def test_hidden_rows_are_summed_and_guess_and_drawn_word_stay(node, most):  # noqa: F811
    shown = node.call("step/simple_rows", "folded", ROWS, most)
    assert len(shown) == min(most, len(ROWS))
    for name in NAMES:
        total = sum(each[name] for each in ROWS)
        assert sum(each[name] for each in shown) == pytest.approx(total)
    assert {each["is"] for each in shown} == {"trial", "drawn", ""}
    assert shown[-1]["w"] is None


@pytest.mark.parametrize("known", [None, "64 %", "63.5 %"])
def test_percentages_add_up_and_keep_a_known_one(node, known):  # noqa: F811
    shares = [{"value": each["p"]} for each in ROWS]
    if known:
        shares[0]["text"] = known
    texts = node.call("step/percents", "apportioned", shares)
    if known:
        assert texts[0] == known
    left = 100 - float((known or texts[0]).removesuffix(" %"))
    assert sum(int(text.removesuffix(" %")) for text in texts[1:]) == int(left + 0.5)


def test_small_shares_are_not_shown_as_zero(node):  # noqa: F811
    shares = [{"value": 0.997}, {"value": 0.003}, {"value": 0}]
    assert node.call("step/percents", "apportioned", shares) == ["100 %", "< 1 %", "0 %"]


@pytest.mark.parametrize(
    "text", ["0.85", "0.005", "0.6351", "1", "0", "2.4×10⁻⁸", "0.9996", "1.00"]
)
def test_browser_and_python_write_the_same_percentages(node, text):  # noqa: F811
    assert node.call("step/percents", "percentOf", text) == percent(text)
