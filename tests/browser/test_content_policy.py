"""The Content-Security-Policy in a browser: every tab works, and injected code does not run."""

import pytest
from test_race_live import compare, fill_in, race, wait_until_over

REPORT = """window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push([event.violatedDirective, event.blockedURI, event.sample].join(" ")));"""
PICTURES = ("draft tree", "coin and table", "timeline")
# By tab: an element that exists once its content is drawn.
DRAWN = {
    "Step": "#sv-step .sv-twig-svg",
    "Learn": ".sv-learn-one",
    "Compare": ".sv-race-lanes > *",
    "Lossless?": "#sv-sand-rule",
    "Trees": "#sv-grow .sv-twig-svg",
    "Cost": "#sv-law .main-svg",
    "Models": ".sv-models-row",
}
INJECTED = """(markup) => {
  const box = document.body.appendChild(document.createElement("div"));
  box.innerHTML = markup;
  for (const old of box.querySelectorAll("script")) {
    const script = document.createElement("script");
    script.textContent = old.textContent;
    old.replaceWith(script);
  }
}"""


@pytest.fixture
def strict(visit):
    """A visitor whose page records violations of the policy."""
    visit.page.add_init_script(REPORT)
    return visit


def violations(page):
    return page.evaluate("window.violations")


def test_no_tab_violates_the_content_security_policy_in_either_theme(strict):
    page = strict.open("?__theme=light")
    assert page.get_by_role("tab").all_inner_texts() == list(DRAWN)
    for _ in range(2):
        for tab, drawn in DRAWN.items():
            page.get_by_role("tab", name=tab, exact=True).click()
            page.locator(drawn).first.wait_for()
        page.get_by_role("button", name="Dark").click()
    assert page.locator(".main-svg").count() > 4
    assert violations(page) == []


def test_live_run_image_export_and_printing_obey_content_security_policy(strict, pair):
    page = strict.open()
    strict.fill_in(pair, "Once upon a time")
    strict.run()
    strict.wait_until_over()
    for name in PICTURES:
        for kind in ("SVG", "PNG"):
            with page.expect_download() as download:
                page.click(f"[aria-label='Save {name} as {kind}']")
            assert download.value.path().stat().st_size > 100
    page.emulate_media(media="print")
    page.wait_for_function("matchMedia('print').matches")
    assert violations(page) == []


def test_live_race_does_not_violate_the_content_security_policy(strict):
    page = compare(strict)
    fill_in(page, "γ 2 against γ 8", tokens=8)
    race(page)
    wait_until_over(page)
    assert violations(page) == []


@pytest.mark.parametrize(
    ("markup", "directive"),
    [
        ("<img src=data:, onerror='window.hacked = 1'>", "script-src-attr inline"),
        ("<script>window.hacked = 1</script>", "script-src-elem inline"),
        ("<img src=https://evil.example/a.png>", "img-src https://evil.example/a.png"),
        ("<iframe src=https://evil.example/></iframe>", "frame-src https://evil.example"),
    ],
)
def test_injected_markup_cannot_run_code_or_load_remote_files(browser, url, markup, directive):
    page = browser.new_page()
    page.add_init_script(REPORT)
    page.goto(url)
    page.wait_for_selector("#sv-brand")
    page.evaluate(INJECTED, markup)
    page.wait_for_function("window.violations.length > 0")
    assert violations(page)[0].startswith(directive)
    assert not page.evaluate("window.hacked")
    page.close()
