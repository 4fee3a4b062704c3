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
    before = [{**each, "is": each["is"].replace("drawn", "")} for each in ROWS]
    words = [each["w"] for each in node.call("step/simple_rows", "folded", before, most)]
    extra = ["me"] not in words
    assert [each["w"] for each in shown if not extra or each["w"] != ["me"]] == words
    assert len(shown) == min(most, len(ROWS)) + extra
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


@pytest.mark.parametrize("p", [0.004, 0.061, 0.0649, 0.3, 0.5, 0.846, 0.85])
@pytest.mark.parametrize("q", [0.85, 0.0031, 0.9996])
def test_a_division_of_dragged_bars_is_right_as_it_is_shown(node, p, q):  # noqa: F811
    one, other, chance = node.call("step/percents", "dividing", p, q)
    ratio = min(1, float(one.removesuffix(" %")) / float(other.removesuffix(" %")))
    assert node.call("step/percents", "percentText", ratio) == chance
    assert (chance == "100 %") == (p >= q)


def test_the_rest_of_dragged_bars_keeps_its_text(node):  # noqa: F811
    shares = [{"value": 0.061}, {"value": 0.914}, {"value": 0.025, "text": "2 %"}]
    assert node.call("step/percents", "apportioned", shares) == ["6 %", "92 %", "2 %"]


def test_the_smaller_number_of_a_guess_is_never_above_the_larger(node):  # noqa: F811
    find = """async (rows) => {
      const { Bars } = await load("step/simple_bars");
      const found = [];
      const look = (each) => {
        if (Array.isArray(each)) return each.forEach(look);
        if (each?.props?.class?.includes("sv-col-value"))
          found.push([each.props.children, parseFloat(each.props.style.bottom)
            + (each.props.class.includes("sv-col-upper") ? 0.01 : 0)]);
        if (each?.props) look(each.props.children);
        return undefined;
      };
      look(Bars(rows, "parts"));
      return found;
    }"""
    for p, q in ((0.017, 0.102), (0.121, 0.247), (0.247, 0.121), (0.64, 0.85)):
        shown = {"pText": str(p), "qText": str(q), "missText": ""}
        other = {**row("said", 0.6, 0.3), "pText": "", "qText": "", "missText": ""}
        rows = [{**row("and", p, q, "trial"), **shown}, other]
        heights = dict(node.evaluate(find, rows))
        assert (heights[str(p)] < heights[str(q)]) == (p < q), heights


def test_a_share_that_is_almost_all_leaves_almost_nothing(node):  # noqa: F811
    shares = [{"value": 0.9999, "text": "almost 100 %"}, {"value": 0.0001}]
    assert node.call("step/percents", "apportioned", shares) == ["almost 100 %", "< 1 %"]


def test_small_shares_are_not_shown_as_zero(node):  # noqa: F811
    shares = [{"value": 0.997}, {"value": 0.003}, {"value": 0}]
    assert node.call("step/percents", "apportioned", shares) == ["100 %", "< 1 %", "0 %"]


@pytest.mark.parametrize(
    "text", ["0.85", "0.005", "0.6351", "1", "0", "2.4×10⁻⁸", "0.9996", "1.00"]
)
def test_browser_and_python_write_the_same_percentages(node, text):  # noqa: F811
    assert node.call("step/percents", "percentOf", text) == percent(text)
