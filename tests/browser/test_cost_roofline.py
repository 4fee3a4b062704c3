"""The roofline section in a browser: controls send requests, and the newest result is shown."""

import json
from dataclasses import replace

import pytest
from costs import ROOFLINE as PART
from costs import lent

from specviz.cost import sources
from specviz.cost.roofline import DraftPlan, Serving, first_losing_batch, predict
from specviz.cost.sources import at_default_efficiency

SAY = ".sv-roofline-say"
HOSTILE = "<img src=x onerror=window.hacked=1>${1}`</script>"


@pytest.fixture
def roofline(looker):
    """The section with its first results and figures."""
    for page in lent(looker):
        page.wait_for_selector(f"{SAY}:not(:empty)")
        page.wait_for_selector(".sv-roofline-plot .main-svg >> nth=2", state="attached")
        yield page


def settled(page, change):
    """Perform an action, and wait until the newest request is answered and shown."""
    before = page.evaluate(f"{PART}.question.number")
    change()
    page.wait_for_function(f"{PART}.question.number > {before} && {PART}.question.idle")


def part(page):
    return page.locator("#sv-roofline")


def ask(page, **values):
    settled(page, lambda: page.evaluate(f"(values) => {PART}.ask(values)", values))


def test_displayed_numbers_equal_the_roofline_formulas(roofline):
    page = roofline
    button = page.get_by_role("button", name="8B on an H100, batch size 512")
    settled(page, button.click)
    assert button.get_attribute("aria-pressed") == "true"
    assert part(page).get_by_label("Batch size", exact=True).input_value() == "512"
    settled(page, lambda: part(page).get_by_label("Drafter").select_option("llama-3.2-1b"))
    assert button.get_attribute("aria-pressed") == "false"
    shapes = sources.models()
    serving = at_default_efficiency(
        Serving(shapes["llama-3.1-8b"].shape, sources.machines()["h100-sxm"].hardware, "bf16")
    )
    guessing = DraftPlan.chain(0.7, 4, shapes["llama-3.2-1b"].shape)
    found = predict(serving, guessing, 512)
    said = page.inner_text(SAY)
    assert f"{found.speedup:.2f} ×" in said
    assert f"{found.verify / found.plain:.2f}" in said
    assert f"from batch size {first_losing_batch(serving, guessing)} on" in said
    assert "simulated" in said
    assert f"{found.tokens_per_second:,.0f}" in page.inner_text(".sv-roofline-table")
    assert f"{(found.draft + found.verify) / found.plain:.2f}" in page.inner_text(
        ".sv-roofline-round"
    )
    settled(page, page.get_by_role("button", name="House on a laptop, batch size 1").click)
    assert "a laptop CPU" in page.inner_text(SAY)
    assert part(page).get_by_label("Number format").input_value() == "fp32"
    assert part(page).get_by_label("Drafter").locator("option").count() == 3


def test_arrow_keys_move_the_sliders_and_the_newest_result_is_shown(roofline):
    page = roofline
    slide = part(page).get_by_label("Batch size: sequences per pass")
    slide.focus()

    def many():
        for _ in range(12):
            page.keyboard.press("ArrowRight")

    settled(page, many)
    batch = part(page).get_by_label("Batch size", exact=True).input_value()
    assert int(batch) > 64
    assert f"at batch size {batch}," in page.inner_text(SAY)
    settled(page, lambda: part(page).get_by_label("Batch size", exact=True).fill("83"))
    assert "at batch size 83," in page.inner_text(SAY)


def test_invalid_values_show_errors_and_text_is_never_rendered_as_html(roofline):
    page = roofline
    before = page.inner_text(SAY)
    box = part(page).get_by_label("Children per node, level by level")
    settled(page, lambda: box.fill(HOSTILE))
    alert = part(page).get_by_role("alert").filter(has_text="Siblings at each depth must be")
    alert.wait_for()
    assert page.inner_text(SAY) == before
    settled(page, lambda: box.fill(""))
    assert page.locator(".sv-roofline-wrong").is_hidden()
    settled(page, lambda: part(page).get_by_label("Batch size", exact=True).fill(""))
    part(page).get_by_role("alert").filter(has_text="The batch size must be a number.").wait_for()
    ask(page, batch=64, model="llama-3.1-70b")
    assert "This does not fit" in page.inner_text(".sv-roofline-alert")
    run = {"alpha": 0.6437, "gamma": 5.4, "guesses": 12, "c": 0.3, "verify": 1, "tokens": 2,
           "speedup": 1.5, "predicted": 1.5, "name": HOSTILE, "source": "live",
           "where": "House · here"}  # fmt: skip
    handed = """(run) => {
      window.specviz.handed['sv-law'] = run;
      window.dispatchEvent(new CustomEvent('sv-handed', { detail: 'sv-law' }));
    }"""
    settled(page, lambda: page.evaluate(handed, run))
    beside = page.inner_text(".sv-roofline-with")
    assert f"α = 0.644, γ = 5.4 (measured: {HOSTILE} on House, a lane of Compare" in beside
    assert "This section uses γ = 5." in beside
    assert "The target here is Llama-3.1-70B, so expect a different α." in beside
    assert "Its rounds had 12 draft tokens; this section verifies a chain of 5" in beside
    asked = page.evaluate(f"{PART}.request()")
    assert (asked["alpha"], asked["gamma"]) == (0.644, 5)
    assert part(page).get_by_label("γ, draft tokens in a chain").input_value() == "5"
    assert page.locator(".sv-roofline img").count() == 0
    assert page.evaluate("window.hacked") is None
    settled(page, page.get_by_role("button", name="House on a laptop, batch size 1").click)
    assert "expect a different" not in page.inner_text(".sv-roofline-with")
    assert page.locator(".sv-roofline-unreported").is_visible()


def test_predicted_limit_is_shown_beside_the_published_number_and_its_link(roofline):
    page = roofline
    assert page.inner_text(".sv-roofline-bound") == "2.07 ×"
    assert page.inner_text(".sv-roofline-reported") == "1.38 ×"
    assert "batch 64" in page.inner_text(".sv-roofline-about")
    left, right = (
        page.locator(f".sv-roofline-beside > div >> nth={n}").bounding_box() for n in (0, 1)
    )
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]
    page.select_option(".sv-headline-family", "Medusa")
    page.get_by_role("link", name="See its row").click()
    row = page.locator(".sv-headline-here")
    assert "1.38 ×" in row.inner_text()
    assert row.evaluate("(row) => row === document.activeElement")
    settled(page, page.get_by_role("button", name="8B on an H100, batch size 512").click)
    shape = sources.models()["llama-3.1-8b"].shape
    serving = at_default_efficiency(Serving(shape, sources.machines()["h100-sxm"].hardware, "bf16"))
    one = predict(serving, DraftPlan.chain(0.7, 1, replace(shape, layers=1, tied=True)), 512)
    best = f"The best γ here is 1 and would give {one.speedup:.2f} ×."
    assert page.inner_text(".sv-roofline-best").startswith(best)
    ask(page, hardware="a100-sxm", dtype="bf16", batch=1, drafter="n-gram")
    page.get_by_role("link", name="See its row").click()
    assert "PLD" in page.inner_text(".sv-headline-here")
    assert "A100" in page.inner_text(".sv-headline-about")


def test_lower_efficiency_reduces_the_speedup_and_is_marked_simulated(roofline):
    page = roofline
    slow = part(page).get_by_label("% of peak arithmetic")
    settled(page, lambda: slow.fill("40"))
    shown = part(page).locator(".sv-roofline-slide:has([name=computing]) output")
    assert shown.inner_text() == "40%"
    assert page.inner_text(".sv-roofline-called") == "γ = 4, 70% bandwidth, 40% arithmetic"
    assert float(page.inner_text(".sv-roofline-bound").split()[0]) < 2.07
    near = page.locator(".sv-roofline-hint", has_text="peak of the data sheet")
    assert near.locator(".sv-roofline-mark").inner_text() == "simulated"
    assert "Peak bandwidth: Sources report 55 to 90%." in near.inner_text()


def test_figures_fit_a_phone_follow_the_theme_and_link_their_sources(roofline):
    page = roofline
    ink = "getComputedStyle(document.querySelector('[data-figure=speed] .ytick text')).fill"
    light = page.evaluate(ink)
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function(f"{ink} !== {json.dumps(light)}")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.querySelector('[data-figure=pass] svg').clientWidth < 390")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator(".sv-roofline-sources summary").click()
    links = page.locator(".sv-roofline a[target]").evaluate_all(
        "all => all.map((a) => [a.href, a.rel])"
    )
    assert {rel for _, rel in links} == {"noopener"}
    kinds = (sources.machines(), sources.models(), sources.efficiencies())
    every = [preset for kind in kinds for preset in kind.values()]
    urls = {one.url for preset in every for one in preset.sources if "://" in one.url}
    assert {href for href, _ in links} == urls
    for meaning in sources.EVIDENCE.values():
        assert meaning in page.inner_text(".sv-roofline-evidence")
