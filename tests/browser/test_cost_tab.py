"""α and γ of the Cost tab, the formula and draft trees: controls, links, runs and a phone."""

from urllib.parse import parse_qs, urlsplit

from costs import ANSWER, FIGURE, SAID, hand, says
from made import RUNS, made
from playwright.sync_api import expect
from test_access import faults

from specviz.cost.formatting import format_speedup
from specviz.cost.formula import SpeedupModel, measured_point
from specviz.ui.cost.speedup import START, best_sentence

HOSTILE = "<img src=x onerror=window.hacked=1>${1}`</script>"
LANE = {
    "alpha": 0.6437, "gamma": 5.4, "guesses": 12, "c": 0.3, "verify": 1, "tokens": 2,
    "speedup": 1.5, "predicted": 1.5, "name": HOSTILE, "source": "live", "where": "House · here",
}  # fmt: skip
FORMULA, TREES = "#sv-part-formula", "#sv-part-trees"


def opened(visit, query="?part=formula"):
    """Return the page with the Cost tab, once the formula is drawn."""
    page = visit.open(query)
    page.wait_for_function("window.specviz?.store.measured.value !== undefined")
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_selector(FIGURE)
    return page


def slider(page, name):
    return page.get_by_role("slider", name=name)


def query(page):
    return {key: value for key, (value,) in parse_qs(urlsplit(page.url).query).items()}


def test_numbers_runs_and_the_map_set_the_values_and_names_stay_text(visit):
    page = opened(visit)
    a_number_beyond_a_slider_is_explained_and_not_sent(page)
    found = measured_point(made(RUNS["01-chain"]))
    compared = f"predicts {format_speedup(found.predicted)}; the run measured"
    says(page, FORMULA, compared)
    page.get_by_role("button", name="Use the run’s α, γ, c and v").click()
    taken = SpeedupModel(round(found.alpha, 3), round(found.c, 3), round(found.verify, 3))
    says(page, ANSWER, best_sentence(taken))
    page.evaluate("window.specviz['sv-step'].load('02-siblings')")
    other = measured_point(made(RUNS["02-siblings"]))
    says(page, FORMULA, f"predicts {format_speedup(other.predicted)}; the run measured")
    hand(page, LANE)
    says(page, ANSWER, best_sentence(SpeedupModel(0.644, 0.3)), "a lane sets the sliders")
    says(page, FORMULA, f"Measured: {HOSTILE}, 1.50 × (measured on this machine)")
    says(page, SAID, f"α = 0.644, γ = 5.4 (measured: {HOSTILE} on House, a lane of Compare")
    assert page.locator(":is(.sv-pair-from, .sv-instrument) img").count() == 0
    assert page.evaluate("window.hacked") is None
    plot = page.locator("#sv-formula-map .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 0.9, "y": box["height"] * 0.5})
    says(page, SAID, "α = 0.90, γ = ")
    says(page, ANSWER, "At α = 0.90 and c = 0.30")
    fast_clicks_end_at_the_last_point(page, plot)


def a_number_beyond_a_slider_is_explained_and_not_sent(page):
    failed = []
    page.on("response", lambda answer: answer.status >= 500 and failed.append(answer.url))
    box = page.get_by_label("number input for α, acceptance")
    for typed, nearest in (("-1", "0.00"), ("2", "1.00")):
        box.fill(typed)
        says(page, ".sv-pair", "This must be a number from 0 to 1.")
        expect(page.locator(".sv-instrument-answer.block").first).to_have_css("opacity", "0.45")
        box.press("Tab")
        says(page, SAID, f"α = {nearest}, γ = 4 (your own values).")
        replaced = f"{typed} is not from 0 to 1, so it was replaced by {float(nearest):g}."
        expect(page.locator(".sv-beyond")).to_have_text(replaced)
        expect(page.locator(".sv-instrument-answer.block").first).to_have_css("opacity", "1")
    box.fill("0.5")
    expect(page.locator(".sv-beyond")).to_have_count(0)
    assert failed == []


def fast_clicks_end_at_the_last_point(page, plot):
    box = plot.bounding_box()
    held, holds = [], [True]
    page.route("**/run/predict*", lambda route: held.append(route) if holds else route.continue_())
    for share in (0.9, 0.5, 0.2):
        plot.click(position={"x": box["width"] * share, "y": box["height"] * 0.5})
        page.wait_for_timeout(500)  # else plotly takes two clicks for a double click
    holds.clear()
    for route in held:
        route.continue_()
    says(page, SAID, "α = 0.20, γ = ")


def test_keyboard_changes_values_and_the_link_reopens_them(visit):
    page = opened(visit)
    says(page, ANSWER, best_sentence(SpeedupModel(START["alpha"], START["c"])))
    says(page, SAID, "α = 0.70, γ = 4 (an example).")
    assert "alpha" not in query(page), "not before something was chosen"
    slider(page, "α, acceptance").focus()
    for _ in range(10):  # faster than answers arrive
        page.keyboard.press("ArrowRight")
    says(page, ANSWER, best_sentence(SpeedupModel(0.8, START["c"])), "the newest answer is shown")
    says(page, SAID, "α = 0.80, γ = 4 (your own values).")
    page.get_by_label("number input for c, cost").fill("0.2")
    says(page, ANSWER, best_sentence(SpeedupModel(0.8, 0.2)))
    page.wait_for_function("location.search.includes('c=0.2')")
    box = page.get_by_label("number input for γ, draft length")
    box.fill("")
    says(page, f"{FORMULA} .sv-notice", "γ must be a number.")
    box.fill("3")
    says(page, ANSWER, "Your γ = 3 gives")
    expect(page.locator(f"{FORMULA} .sv-notice")).to_be_hidden()
    page.locator(TREES).get_by_role("button", name="Show details and controls").click()
    page.locator(TREES).get_by_label("Children per node").fill("<b>2</b>")
    says(page, f"{TREES} .sv-notice", "“<b>2</b>” is not an integer.")
    page.locator(TREES).get_by_label("Children per node").fill("2 2")
    says(page, TREES, "With 6 draft tokens per round")
    page.wait_for_function("location.search.includes('widths')")
    known = {"alpha": "0.8", "gamma": "3", "c": "0.2", "widths": "2 2"}
    assert known.items() <= query(page).items()
    assert not {"verify", "from", "places"} & query(page).keys(), "what is as usual is left out"
    page.get_by_role("tab", name="Step", exact=True).click()
    page.wait_for_function("!location.search.includes('alpha=')")
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_function("location.search.includes('alpha=0.8')")
    page.goto(page.url)
    says(page, ANSWER, f"{best_sentence(SpeedupModel(0.8, 0.2))} Your γ = 3 gives")
    says(page, TREES, "With 6 draft tokens per round", "the trees are open")
    page.wait_for_selector("#sv-trees-compared .main-svg")
    a_phone_keeps_alpha_and_gamma_in_sight_without_overflow(page)


def a_phone_keeps_alpha_and_gamma_in_sight_without_overflow(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#sv-trees-compared .main-svg").first.scroll_into_view_if_needed()
    top = slider(page, "γ, draft length").bounding_box()
    assert 0 <= top["y"] < 100, "the sliders stay"
    for figure in (FIGURE, "#sv-formula-map .main-svg", "#sv-trees-compared .main-svg"):
        assert page.locator(figure).first.bounding_box()["width"] <= 358, figure
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    light = page.locator(f"{FIGURE} .ytick text").first.evaluate("(e) => getComputedStyle(e).fill")
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function(  # the figures are drawn again
        "([text, light]) => getComputedStyle(document.querySelector(text)).fill !== light",
        arg=[f"{FIGURE} .ytick text", light],
    )
    assert faults(page) == []


def test_published_alpha_names_its_source(visit):
    page = visit.open("?alpha=0.931&gamma=6&from=eagle3")  # which opens the tab
    says(page, SAID, "α = 0.931, γ = 6 (published: EAGLE-3")
    assert page.locator(f"{SAID} a").get_attribute("href").startswith("https://")
    page.get_by_label("Take α and γ from").click()
    page.get_by_role("option", name="last run on Step").click()
    run = measured_point(made(RUNS["01-chain"]))
    says(page, SAID, f"α = {run.alpha:.3f}".rstrip("0"))
    says(page, SAID, "recorded 01-chain).")
    page.get_by_label("Take α and γ from").click()
    page.get_by_role("option", name="lane of Compare").click()
    says(page, SAID, "No lane was sent yet")
