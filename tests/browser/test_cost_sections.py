"""Sections of the Cost tab: roofline, adaptive verification, measured costs, published numbers."""

import pytest
from costs import ROOFLINE, SLOWLY, done, lent, says
from playwright.sync_api import expect
from specviz.ui.cost.roofline.question import Ask
from test_access import check_readable

from specviz.cost import sources
from specviz.cost.roofline import predict

SAY = ".sv-roofline-say"
HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture
def cost(looker):
    """The tab in its initial state, with all sections open and their figures drawn."""
    for page in lent(looker):
        page.wait_for_selector(".sv-roofline-plot .main-svg >> nth=2", state="attached")
        yield page


def ask(page, **values):
    done(page, ROOFLINE, lambda: page.evaluate(f"(values) => {ROOFLINE}.ask(values)", values))


def press(page, name):
    done(page, ROOFLINE, page.get_by_role("button", name=name).click)


def test_roofline_shows_the_newest_prediction_and_names_invalid_values(cost):
    page, part = cost, cost.locator("#sv-roofline")
    batch = part.get_by_label("Batch size", exact=True)
    drafter = part.get_by_label("Drafter")
    press(page, "8B on an H100, batch size 512")
    assert batch.input_value() == "512"
    done(page, ROOFLINE, lambda: drafter.select_option("llama-3.2-1b"))
    asked = Ask.from_data(page.evaluate(f"{ROOFLINE}.request()"))
    gain = predict(asked.serving, asked.guessing, 512).speedup
    says(page, SAY, f"{gain:.2f} ×", "the formula's number")
    says(page, SAY, "simulated")
    press(page, "House on a laptop, batch size 1")
    says(page, SAY, "a laptop CPU")
    assert drafter.locator("option").count() == 3, "those that fit this target"
    part.get_by_label("Batch size: sequences per pass").focus()
    done(page, ROOFLINE, lambda: [page.keyboard.press("ArrowRight") for _ in range(12)])
    assert int(batch.input_value()) > 1
    says(page, SAY, f"at batch size {batch.input_value()},", "the newest answer is shown")
    box = part.get_by_label("Children per node, level by level")
    before = page.inner_text(SAY)
    done(page, ROOFLINE, lambda: box.fill(HOSTILE))
    says(page, ".sv-roofline-wrong", "Siblings at each depth must be")
    assert page.inner_text(SAY) == before, "the last answer stays"
    done(page, ROOFLINE, lambda: box.fill(""))
    assert page.locator(".sv-roofline-wrong").is_hidden()
    ask(page, batch=64, model="llama-3.1-70b", hardware="h100-sxm", dtype="bf16")
    says(page, ".sv-roofline-alert", "This does not fit")
    assert page.evaluate("window.hacked") is None


def test_predictions_lead_to_published_numbers(cost):
    page, part = cost, cost.locator("#sv-roofline")
    assert page.inner_text(".sv-roofline-bound") == "2.07 ×"
    assert page.inner_text(".sv-roofline-reported") == "1.38 ×"
    page.get_by_role("link", name="See its row").click()
    rows = page.locator("#sv-published [role=row]")
    expect(rows.filter(has_text="1.38 ×")).to_be_visible(timeout=SLOWLY)
    assert rows.filter(has_text="Medusa").count() == 0, "the family is chosen"
    done(page, ROOFLINE, lambda: part.get_by_label("% of peak arithmetic").fill("40"))
    says(page, ".sv-roofline-called", "γ = 4, 70% bandwidth, 40% arithmetic")
    assert float(page.inner_text(".sv-roofline-bound").split()[0]) < 2.07
    ask(page, hardware="a100-sxm", dtype="bf16", batch=1, drafter="n-gram")
    page.get_by_role("link", name="See its row").click()
    expect(rows.filter(has_text="PLD")).to_be_visible(timeout=SLOWLY)
    says(page, "#sv-part-published .sv-instrument-answer", "A100", "a row of a leaderboard")
    page.locator(".sv-roofline-sources summary").click()
    links = page.locator(".sv-roofline a[target]").evaluate_all(
        "all => all.map((a) => [a.href, a.rel])"
    )
    kinds = (sources.machines(), sources.models(), sources.efficiencies())
    every = [preset for kind in kinds for preset in kind.values()]
    urls = {one.url for preset in every for one in preset.sources if "://" in one.url}
    assert set(map(tuple, links)) == {(url, "noopener") for url in urls}


def test_published_numbers_are_searched_sorted_and_opened_by_link(visit):
    page = visit.open("?tab=cost&part=boards&board=2")
    answer = "#sv-part-published .sv-instrument-answer"
    says(page, answer, "EAGLE3 is fastest, 3.02 ×", "from the link")
    part = page.locator("#sv-part-published")
    part.get_by_label("Measured in").click()
    page.get_by_role("option", name="Papers").click()
    says(page, answer, "25 published speed-ups")
    page.wait_for_url(lambda url: "board=papers" in url)
    cells = part.locator("[role=gridcell][aria-colindex='2']")
    part.get_by_role("textbox", name="Enter text to search").fill("Chinchilla")
    expect(cells).to_have_text(["2 to 2.5 ×"])
    link = part.locator("[role=gridcell] a")
    assert link.get_attribute("href") == "https://arxiv.org/abs/2302.01318"
    assert "noopener" in link.get_attribute("rel")
    assert part.locator("#sv-published-ours").is_hidden(), "our own numbers only on request"
    part.get_by_role("button", name="Ours beside them").click()
    says(page, "#sv-published-ours", "the House models of this page on 2 CPU cores")


def test_adaptive_verification_answers_its_controls_and_its_link(visit):
    page = visit.open("?tab=cost&requests=320")
    part = page.locator("#sv-part-adaptive")
    says(page, "#sv-part-adaptive .sv-instrument-answer", "With 320 requests,", "from the link")
    page.wait_for_selector("#sv-adaptive-grid .main-svg")
    expect(part.get_by_role("radio", name="320")).to_be_checked()
    part.get_by_role("radio", name="160").focus()
    page.keyboard.press("Space")
    says(page, "#sv-part-adaptive .sv-instrument-answer", "With 160 requests,")
    page.wait_for_function("!location.search.includes('requests')")
    part.get_by_label("Check the best number of draft tokens").uncheck()
    slots = part.get_by_role("slider", name="Draft tokens to check")
    slots.focus()
    page.keyboard.press("Home")
    says(page, "#sv-part-adaptive .sv-instrument-answer", "plain decoding is fastest")


def test_cost_tab_does_not_overflow_and_passes_axe(cost, looker):
    cost.select_option(".sv-terms-from", "eagle3")
    check_readable(looker)
    cost.wait_for_function("document.querySelector('[data-figure=pass] svg').clientWidth < 390")
    looker.dress("light")
