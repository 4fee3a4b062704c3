"""The Cost tab as a whole: its sections, one α and γ for all, the formula, links and a phone."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from costs import LAW, ROOFLINE, SETTLED, done, hand, lent, opened, says, slide
from made import RUNS, made
from playwright.sync_api import expect
from specviz.ui.cost.law import START
from specviz.ui.cost.law.answer import best_sentence, times
from test_access import faint

from specviz.cost import formula
from specviz.cost.formula import SpeedupModel, measured_point
from specviz.cost.sources import acceptances

PARTS = [
    "formula", "trees", "roofline", "adaptive", "server", "sweep", "shapes", "published", "boards",
]  # fmt: skip
OPEN = "[...document.querySelectorAll('.sv-fold[open]')].map((part) => part.dataset.part)"
DRAWN = """[...document.querySelectorAll('.sv-fold:not([open]) .main-svg')]
  .map((figure) => figure.closest('.sv-fold').dataset.part)"""
# Sums the layout shifts of the formula and of the line above it.
SHIFTS = """window.shifted = 0; new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries())
    if (sources.some(({ node }) => node?.closest?.("#sv-terms, #sv-law"))) window.shifted += value;
}).observe({ type: "layout-shift" });"""
INK = "getComputedStyle(document.querySelector('.sv-law-speed .ytick text')).fill"
BEST, CHOSEN = ".sv-law-best", ".sv-law-chosen"
SAID, WITH = ".sv-terms-said", ".sv-roofline-with"
HOSTILE = "<img src=x onerror=window.hacked=1>${1}`</script>"
LANE = {
    "alpha": 0.6437, "gamma": 5.4, "guesses": 12, "c": 0.3, "verify": 1, "tokens": 2,
    "speedup": 1.5, "predicted": 1.5, "name": HOSTILE, "source": "live", "where": "House · here",
}  # fmt: skip


@pytest.fixture
def cost(looker):
    """The tab in its initial state, with all sections open."""
    yield from lent(looker)


@pytest.fixture
def asked(visit):
    """Collect the names of the sections that the page has requested."""
    found = []
    visit.page.on(
        "request", lambda each: "/ask/" in each.url and found.append(each.url.rsplit("/", 1)[1])
    )
    return found


def arrived(visit, query=""):
    """Return the tab as a visitor finds it; plotly arrives after the first answer."""
    page, held = visit.page, []

    def hold(route):
        held.append(route)

    page.route("**/plotly-*", hold)
    visit.open(query)
    with page.expect_request("**/plotly-*"):
        page.get_by_role("tab", name="Cost", exact=True).click()
    page.wait_for_selector("[data-part=boards]")
    page.wait_for_function(
        f"window.specviz.shapes?.question.idle && {LAW}.last && {LAW}.question.idle"
    )
    for route in held:
        route.continue_()
    page.unroute("**/plotly-*")
    page.wait_for_selector(".sv-law-speed .main-svg")
    return page


def heading(page, name):
    return page.locator(f"[data-part={name}] > summary")


def both_asked(page):
    """Return α and γ as both sections request them, once the requests are answered."""
    page.wait_for_function(SETTLED)
    both = [page.evaluate(f"{part}.request()") for part in (LAW, ROOFLINE)]
    return [(each["alpha"], each["gamma"]) for each in both]


def query(page):
    return {key: value for key, (value,) in parse_qs(urlsplit(page.url).query).items()}


def gap_of(point):
    return f"formula predicts {times(point.predicted)}; the run measured {times(point.speedup)}."


def test_closed_sections_request_nothing_and_answer_in_one_sentence(visit, asked):
    visit.page.add_init_script(SHIFTS)
    page = arrived(visit)
    assert page.evaluate("window.shifted") < 0.005, "the first answer or plotly moved something"
    names = page.locator(".sv-fold").evaluate_all("all => all.map((e) => e.dataset.part)")
    assert names == PARTS
    assert page.evaluate(OPEN) == ["formula"]
    assert set(asked) == {"law"}, "a closed section asked the server"
    assert page.evaluate(DRAWN) == [], "a closed section drew a figure"
    for name in PARTS[1:]:
        sentence = heading(page, name).locator("> .sv-fold-answer")
        assert sentence.is_visible(), name
        assert any(letter.isdigit() for letter in sentence.inner_text()), name
        assert sentence.inner_text().endswith("."), name
    assert heading(page, "formula").locator("> .sv-fold-answer").is_hidden()
    assert faint(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.documentElement.scrollHeight < 5200")
    assert page.evaluate("document.documentElement.scrollWidth") == 390, "it overflows"


def test_sections_open_by_keyboard_keep_their_answer_and_reopen_by_link(visit, asked):
    page = arrived(visit)
    done(page, LAW, lambda: slide(page, "alpha", 0.9))
    assert "roofline" not in asked
    heading(page, "roofline").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#sv-roofline .main-svg >> nth=2", state="attached")
    assert asked.count("roofline") == 1
    page.keyboard.press("Space")
    page.wait_for_selector(".sv-roofline-say", state="hidden")
    assert "α = 0.90" in heading(page, "roofline").inner_text(), "its last answer"
    done(page, LAW, lambda: slide(page, "alpha", 0.6))
    assert asked.count("roofline") == 1, "a closed section asked the server"
    page.keyboard.press("Space")
    says(page, WITH, "α = 0.60", "it asks again when it opens")
    assert asked.count("roofline") == 2
    heading(page, "trees").click()
    page.wait_for_selector(".sv-law-tree svg >> nth=2")
    heading(page, "formula").click()
    assert page.evaluate(f"{LAW}.request().parts") == ["trees"], "the closed formula is asked for"
    page.fill("#sv-law-widths", "2, 2")
    says(page, ".sv-law-said", "With 6 draft tokens")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(OPEN) == ["formula", "trees", "roofline"], "printed: what was opened"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(OPEN) == ["trees", "roofline"]
    page.evaluate("window.dispatchEvent(new CustomEvent('sv-link', { detail: { without: [] } }))")
    page.wait_for_function("location.search.includes('part=trees+roofline')")
    page = visit.open(page.url[page.url.index("?") :])
    page.wait_for_selector("[data-part=roofline][open]")
    assert {"trees", "roofline"} <= set(page.evaluate(OPEN)), "the link has the open sections"


def test_formula_answers_sliders_and_fields_and_names_what_is_invalid(cost):
    page = cost
    says(page, BEST, best_sentence(SpeedupModel(START["alpha"], START["c"])))
    for alpha in (0.1, 0.3, 0.9, 0.5, 0.8):  # faster than responses arrive
        slide(page, "alpha", alpha)
    says(page, BEST, best_sentence(SpeedupModel(0.8, START["c"])), "the newest answer is shown")
    page.get_by_label("draft tokens in a chain, as a number").fill("3")
    says(page, CHOSEN, f"Your γ = 3 gives {times(formula.speedup(0.8, 3, 0.1))} plain decoding.")
    assert page.input_value("#sv-law-gamma") == "3", "the slider follows its field"
    says(page, ".sv-law-round [data-number=tokens]", f"{formula.expected_tokens(0.8, 3):.2f}")
    box = page.get_by_label("acceptance probability, as a number")
    for wrong, sentence in (("7", "α must be between 0 and 1."), ("", "α must be a number.")):
        box.fill(wrong)
        says(page, ".sv-law-notice", sentence)
        expect(box).to_have_attribute("aria-invalid", "true")
    box.fill("0.9")
    page.wait_for_selector(".sv-law-notice", state="hidden")
    expect(box).to_have_attribute("aria-invalid", "false")
    says(page, BEST, best_sentence(SpeedupModel(0.9, START["c"])))
    page.fill("#sv-law-widths", "<b>2</b>")
    says(page, ".sv-law-fault", "“<b>2</b>” is not an integer.")
    page.fill("#sv-law-widths", page.locator("#sv-law-about-widths b").first.inner_text())
    says(page, ".sv-law-said", "With 21 draft tokens per round", "the example of the syntax")
    page.fill("#sv-law-widths", "2 2")
    page.fill("#sv-law-places", "0.65, 0.10636")
    says(page, "[data-card=tokens]", "2.328")
    page.wait_for_selector(".sv-law-fault", state="hidden")


def test_measured_runs_set_the_formula_and_are_compared_with_it(cost):
    page, found = cost, measured_point(made(RUNS["01-chain"]))
    says(page, ".sv-law-gap", gap_of(found))
    page.get_by_role("button", name="Use the run’s α, γ, c and v").click()
    taken = SpeedupModel(round(found.alpha, 3), round(found.c, 3), round(found.verify, 3))
    says(page, BEST, best_sentence(taken))
    assert page.input_value("#sv-law-verify") == "1.25"
    page.evaluate("window.specviz.players['sv-step'].load('02-siblings')")
    says(page, ".sv-law-gap", gap_of(measured_point(made(RUNS["02-siblings"]))), "Step's run")
    page.evaluate(
        "window.specviz.measured = null; window.dispatchEvent(new CustomEvent('sv-measured'))"
    )
    page.wait_for_selector(".sv-law-none")
    page.get_by_role("button", name="Run one on Step").click()
    page.wait_for_selector(".sv-caption")


def test_lane_of_compare_sets_all_sections_and_its_name_stays_text(cost):
    page = cost
    hand(page, LANE)
    says(page, BEST, best_sentence(SpeedupModel(0.644, 0.3)), "a lane sets the sliders")
    says(page, ".sv-law-name b", f"measured: {HOSTILE}, 1.50 ×")
    says(page, ".sv-law-from", "measured on this machine")
    whose = f"α = 0.644, γ = 5.4 (measured: {HOSTILE} on House, a lane of Compare"
    says(page, SAID, whose, "the tab names the origin of α")
    says(page, WITH, whose, "so does a section")
    says(page, WITH, "The target here is Llama-3.1-8B, so expect a different α.")
    says(page, WITH, "Its rounds had 12 draft tokens; this section verifies a chain of 5")
    assert both_asked(page)[1] == (0.644, 5)
    assert page.locator(":is(.sv-law, .sv-terms, .sv-roofline) img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert "onerror" not in json.dumps(page.evaluate(f"{LAW}.request()")), "the name stays here"
    done(page, ROOFLINE, page.get_by_role("button", name="House on a laptop, batch size 1").click)
    assert "expect a different" not in page.inner_text(WITH), "measured on this target"
    page.get_by_role("button", name="Last run on Step").click()
    run = measured_point(made(RUNS["01-chain"]))
    says(page, ".sv-law-gap", gap_of(run))
    page.select_option(".sv-terms-from", "step")
    says(page, SAID, ", recorded run 01-chain).")
    assert both_asked(page)[0] == (round(run.alpha, 3), round(run.gamma, 3))


def test_all_sections_share_one_alpha_and_gamma_and_one_table_of_contents(cost):
    page = cost
    says(page, SAID, "α = 0.70, γ = 4 (an example).")
    assert both_asked(page) == [(0.7, 4), (0.7, 4)]
    slide(page, "alpha", 0.9)
    says(page, WITH, "α = 0.90 (your own values), γ = 4 (an example)")
    page.locator("#sv-roofline").get_by_label("γ, draft tokens in a chain").fill("7")
    says(page, CHOSEN, "Your γ = 7")
    says(page, SAID, "α = 0.90, γ = 7 (your own values).")
    assert both_asked(page) == [(0.9, 7), (0.9, 7)]
    assert page.input_value("#sv-law-gamma") == "7"
    page.get_by_label("draft tokens in a chain, as a number").fill("40")
    says(page, WITH, "This section uses γ = 16.")
    assert both_asked(page) == [(0.9, 40), (0.9, 16)]
    a_published_alpha_names_its_source(page)
    page.wait_for_selector(".sv-headline-table tr")
    page.wait_for_selector(".sv-terms-contents[open]")
    links = page.locator(".sv-terms nav a")
    assert links.count() == 8
    for link in links.all():
        link.focus()
        page.keyboard.press("Enter")
        title = page.locator(link.get_attribute("href"))
        assert title.evaluate("(e) => e === document.activeElement && /^H[23]$/.test(e.tagName)")
        assert 0 <= title.bounding_box()["y"] < 800, title
    assert "#" not in page.url


def a_published_alpha_names_its_source(page):
    known = {each.name: each for each in acceptances()}
    for name, drafter in (("pld", "n-gram"), ("eagle3", "head")):
        page.select_option(".sv-terms-from", name)
        says(page, SAID, f"published: {known[name].title} on {known[name].on}")
        expect(page.locator("#sv-roofline [name=drafter]")).to_have_value(drafter)
        link = page.locator(".sv-terms-how a")
        assert link.get_attribute("href") == known[name].source.url
    says(page, ".sv-terms-how", "the source itself states no α", "it was derived")
    assert both_asked(page) == [(0.931, 6), (0.931, 6)]
    top = page.locator("#sv-law").bounding_box()["y"]
    slide(page, "alpha", 0.5)
    says(page, SAID, "α = 0.50 (your own values), γ = 6 (published: EAGLE-3")
    assert page.inner_text(".sv-terms-how") == ""
    assert page.locator("#sv-law").bounding_box()["y"] == top, "nothing moves under the slider"


def test_links_restore_the_settings_and_name_the_source_of_alpha(visit):
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
    page.goto(page.url)
    says(page, ".sv-roofline-say", "A100 SXM at batch size 8,")
    says(page, SAID, "α = 0.80, γ = 4 (from the link you opened).")
    assert page.input_value("#sv-law-widths") == "2, 2"
    assert page.evaluate(f"{ROOFLINE}.request()")["computing"] == 60
    page = visit.open("?alpha=0.931&gamma=6&c=0.1&from=eagle3&part=server")
    says(page, SAID, "α = 0.931, γ = 6 (published: EAGLE-3")
    assert "server" in page.evaluate(OPEN), "named by part"
    page = visit.open("?alpha=0.5&gamma=6&c=0.1&from=eagle3&widths=2,2#sv-headline-boards")
    says(page, SAID, "α = 0.50, γ = 6 (from the link", "the source has another α")
    assert {"trees", "boards"} <= set(page.evaluate(OPEN)), "named by a value and by #"
    page = visit.open("?alpha=0.7&hardware=abacus&model=<b>&drafter=x&dtype=fp8&batch=9")
    usual = "On one NVIDIA H100 SXM at batch size 9, a pass of Llama-3.1-8B"
    says(page, ".sv-roofline-say", usual, "what is unknown is as usual")


def test_phone_shows_answers_above_their_sliders_without_overflow(visit):
    page = opened(visit, "?__theme=light&alpha=0.9&gamma=7&c=0.2")
    page.set_viewport_size({"width": 390, "height": 844})
    says(page, BEST, best_sentence(SpeedupModel(0.9, 0.2)), "from the link")
    for name in ("alpha", "gamma", "c", "verify", "c_hat"):
        box = page.locator(f"#sv-law-{name}")
        box.evaluate("(e) => e.scrollIntoView({ block: 'center' })")
        answer = page.locator(CHOSEN).bounding_box()
        assert 0 <= answer["y"] < box.bounding_box()["y"] < 844, name
    done(page, LAW, page.get_by_role("button", name="α and c").click)
    assert page.evaluate(f"{LAW}.state.map") == "c"
    light = page.evaluate(INK)
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function(f"{INK} !== {json.dumps(light)}")  # the figures are drawn again
    for figure in (".sv-law-speed .main-svg", ".sv-law-map .main-svg", ".sv-law-tree svg"):
        assert page.locator(figure).first.bounding_box()["width"] <= 358, figure
    link = page.get_by_role("link", name="Published speed-ups")
    assert not link.is_visible(), "the contents are folded"
    page.locator(".sv-terms-contents summary").click()
    link.click()
    assert not page.locator(".sv-terms nav").is_visible(), "folded again"
    assert 0 <= page.locator("#sv-headline-title").bounding_box()["y"] < 400
