"""The whole Cost tab: one α and γ for all sections, their origin, the contents and the link."""

from urllib.parse import parse_qs, urlsplit

import pytest
from costs import LAW, ROOFLINE, SETTLED, lent, opened
from made import RUNS, made
from test_cost_law import LANE, hand, slide

from specviz.cost.formula import measured_point
from specviz.cost.sources import acceptances

SAID = ".sv-terms-said"


@pytest.fixture
def cost(looker):
    """The tab in its initial state."""
    yield from lent(looker)


def says(page, selector, text):
    """Wait until the element has this text."""
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector)?.textContent?.includes(text)",
        arg=[selector, text],
    )


def asked(page):
    """Return α and γ as both sections request them, once the requests are answered."""
    page.wait_for_function(SETTLED)
    both = [page.evaluate(f"{part}.request()") for part in (LAW, ROOFLINE)]
    return [(each["alpha"], each["gamma"]) for each in both]


def query(page):
    """Return the parameters of the page's address."""
    return {key: value for key, (value,) in parse_qs(urlsplit(page.url).query).items()}


def test_all_sections_share_one_alpha_and_gamma(cost):
    page = cost
    says(page, SAID, "α = 0.70, γ = 4 (an example).")
    assert asked(page) == [(0.7, 4), (0.7, 4)]
    slide(page, "alpha", 0.9)
    says(page, ".sv-roofline-with", "α = 0.90 (your own values), γ = 4 (an example)")
    assert asked(page) == [(0.9, 4), (0.9, 4)]
    here = page.locator("#sv-roofline")
    here.get_by_label("γ, draft tokens in a chain").fill("7")
    says(page, ".sv-law-chosen", "Your γ = 7")
    says(page, SAID, "α = 0.90, γ = 7 (your own values).")
    assert asked(page) == [(0.9, 7), (0.9, 7)]
    assert page.input_value("#sv-law-gamma") == "7"
    page.get_by_label("draft tokens in a chain, as a number").fill("40")
    says(page, ".sv-roofline-with", "This section uses γ = 16.")
    assert asked(page) == [(0.9, 40), (0.9, 16)]


def test_alpha_of_a_lane_is_shown_with_its_origin_when_used_for_an_h100(cost):
    page = cost
    hand(page, LANE | {"name": "EAGLE-3", "where": "House · 2 CPU cores · float32"})
    whose = "α = 0.80, γ = 5 (measured: EAGLE-3 on House, a lane of Compare, on this machine)."
    says(page, SAID, whose)
    says(page, ".sv-roofline-with", whose)
    says(page, ".sv-roofline-with", "The target here is Llama-3.1-8B, so expect a different α.")
    assert page.input_value(".sv-terms-from") == "compare"
    page.select_option(".sv-terms-from", "step")
    says(page, SAID, ", recorded run 01-chain).")
    run = measured_point(made(RUNS["01-chain"]))
    assert asked(page)[0] == (round(run.alpha, 3), round(run.gamma, 3))


def test_published_alpha_shows_its_source_and_derivation(cost):
    page = cost
    for each in acceptances():
        page.select_option(".sv-terms-from", each.name)
        says(page, SAID, f"published: {each.title} on {each.on}")
        link = page.locator(".sv-terms-how a")
        assert link.get_attribute("href") == each.source.url
        assert ("the source itself states no α" in page.inner_text(".sv-terms-how")) is each.derived
    page.select_option(".sv-terms-from", "pld")
    assert page.locator("#sv-roofline [name=drafter]").input_value() == "n-gram"
    page.select_option(".sv-terms-from", "eagle3")
    assert asked(page) == [(0.931, 6), (0.931, 6)]
    assert page.locator("#sv-roofline [name=drafter]").input_value() == "head"
    top = page.locator("#sv-law").bounding_box()["y"]
    slide(page, "alpha", 0.5)
    says(page, SAID, "α = 0.50 (your own values), γ = 6 (published: EAGLE-3")
    assert page.locator(".sv-terms-from option:checked").inner_text() == "your own values"
    assert page.inner_text(".sv-terms-how") == ""
    assert page.locator("#sv-law").bounding_box()["y"] == top, "nothing moves under the slider"


def test_table_of_contents_leads_to_every_section_by_keyboard(cost):
    page = cost
    page.wait_for_selector(".sv-headline-table tr")
    page.wait_for_selector(".sv-terms-contents[open]")
    links = page.locator(".sv-terms nav a")
    assert links.count() == 8
    for link in links.all():
        link.focus()
        page.keyboard.press("Enter")
        where = link.get_attribute("href")
        heading = page.locator(where)
        assert heading.evaluate("(e) => e === document.activeElement && /^H[23]$/.test(e.tagName)")
        box = heading.bounding_box()
        assert 0 <= box["y"] < 800
    assert "#" not in page.url


def test_table_of_contents_is_folded_on_a_phone(cost):
    page = cost
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("innerWidth === 390")
    link = page.get_by_role("link", name="Published speed-ups")
    assert not link.is_visible()
    page.locator(".sv-terms-contents summary").click()
    link.click()
    assert not page.locator(".sv-terms nav").is_visible()
    assert 0 <= page.locator("#sv-headline-title").bounding_box()["y"] < 400
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_tree_fields_show_an_example_of_their_syntax(cost):
    page = cost
    for box in ("#sv-law-widths", "#sv-law-places", "#sv-roofline [name=siblings]"):
        about = page.locator("#" + page.locator(box).get_attribute("aria-describedby"))
        assert about.is_visible()
        assert about.inner_text().startswith("Example: ")
    example = page.locator("#sv-law-about-widths b").first.inner_text()
    page.fill("#sv-law-widths", example)
    says(page, ".sv-law-said", "With 21 draft tokens per round")
    assert "= 21 draft tokens" in page.inner_text("#sv-law-about-widths")


def test_page_address_stores_the_settings_and_restores_them(visit):
    page = opened(visit)
    assert "alpha" not in query(page), "not before something was chosen"
    slide(page, "alpha", 0.8)
    slide(page, "c", 0.2)
    page.evaluate(f"{ROOFLINE}.ask({{ hardware: 'a100-sxm', batch: 8, computing: 60 }})")
    page.fill("#sv-law-widths", "2, 2")
    page.wait_for_function("location.search.includes('widths')")
    found = query(page)
    known = {"alpha": "0.8", "gamma": "4", "c": "0.2", "widths": "2, 2"}
    known |= {"hardware": "a100-sxm", "batch": "8", "computing": "60"}
    assert known.items() <= found.items()
    assert not {"model", "verify", "from", "dtype"} & found.keys(), "what is as usual is left out"
    page.get_by_role("tab", name="Step", exact=True).click()
    page.wait_for_function("!location.search.includes('alpha=')")
    page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_function("location.search.includes('alpha=0.8')")
    visit.page.goto(page.url)
    says(page, ".sv-roofline-say", "A100 SXM at batch size 8,")
    says(page, SAID, "α = 0.80, γ = 4 (from the link you opened).")
    assert page.input_value("#sv-law-widths") == "2, 2"
    assert page.evaluate(f"{LAW}.state.c") == 0.2
    assert page.evaluate(f"{ROOFLINE}.request()")["computing"] == 60


def test_link_that_contains_a_source_of_alpha_names_that_source(visit):
    page = visit.open("?alpha=0.931&gamma=6&c=0.1&from=eagle3")
    says(page, SAID, "α = 0.931, γ = 6 (published: EAGLE-3")
    page = visit.open("?alpha=0.5&gamma=6&c=0.1&from=eagle3")
    says(page, SAID, "α = 0.50, γ = 6 (from the link")


def test_link_with_unknown_hardware_uses_the_default(visit):
    page = visit.open("?alpha=0.7&hardware=abacus&model=<b>&drafter=x&dtype=fp8&batch=9")
    says(page, ".sv-roofline-say", "On one NVIDIA H100 SXM at batch size 9, a pass of Llama-3.1-8B")
