"""Tools for teachers: links to a step, films, worksheets and printing."""

import json
import re
from io import BytesIO
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image
from playwright.sync_api import expect


def test_copied_link_opens_the_same_step(visit, another):
    page = visit.open("?trace=01-chain")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.step_to("Rejected")
    # The address follows a little later.
    page.wait_for_function("new URLSearchParams(location.search).get('step')?.startsWith('judge')")
    link = copied(page)
    there = another.open(link.removeprefix(another.url))
    there.wait_for_function("document.querySelector('.sv-verdict').textContent === 'Rejected'")
    assert another.ask("cursor") == visit.ask("cursor")


def test_reloads_and_copied_links_keep_the_open_tab(visit):
    page = visit.open()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_tab = "[role=tab][aria-selected=true]:text-is('{}')"
    for name in ("Models", "Trees", "Cost"):
        page.get_by_role("tab", name=name, exact=True).click()
        assert parse_qs(urlsplit(page.url).query)["tab"] == [name.lower()]
        page.reload()
        page.wait_for_selector(open_tab.format(name))
        assert parse_qs(urlsplit(copied(page)).query)["tab"] == [name.lower()]
    page.go_back()
    page.wait_for_selector(open_tab.format("Trees"))
    page.get_by_role("tab", name="Step", exact=True).click()
    assert "tab" not in parse_qs(urlsplit(page.url).query)


def test_copy_button_says_that_the_link_omits_the_live_race(visit):
    page = visit.open("?tab=compare")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_function("window.specviz.races?.['sv-race']?.whole")
    live = {**page.evaluate("window.specviz.races['sv-race'].race"), "source": "live"}
    race = "window.specviz.races['sv-race']"
    hear = f"line => {{ {race}.begin(); {race}.hear([line]); }}"
    page.evaluate(hear, live)
    link = copied(page)
    expect(page.locator(".sv-copy")).to_contain_text("without your live race")
    assert parse_qs(urlsplit(link).query)["tab"] == ["compare"]
    assert "race=" not in link.replace("trace=", "")


# A promise made before the click, since the button confirms the copy only for a moment.
SAID_SO = """() => {
  const button = document.querySelector(".sv-copy");
  window.saidSo = new Promise((done) =>
    new MutationObserver(() => button.classList.contains("sv-said-so") && done())
      .observe(button, { attributes: true }));
}"""


def copied(page):
    """Return the link that the button copies."""
    page.bring_to_front()  # the clipboard is that of the page in front
    page.evaluate(SAID_SO)
    page.click(".sv-copy")
    page.evaluate("window.saidSo")
    return page.evaluate("navigator.clipboard.readText()")


def test_copied_links_reopen_a_race_and_the_cost_tab(visit, another):
    page = visit.open()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("tab", name="Compare").click()
    page.wait_for_selector(".sv-race-lanes > *")
    page.evaluate("window.specviz.races['sv-race'].load('2-repeat')")
    page.wait_for_url("**race=2-repeat**")
    there = another.open(copied(page).removeprefix(another.url))
    there.wait_for_selector("[role=tab][aria-selected=true]:text('Compare')")
    there.wait_for_function("window.specviz.races['sv-race'].race?.id === '2-repeat'")
    page.get_by_role("tab", name="Cost").click()
    page.wait_for_selector(".sv-law-best:not(:empty)")
    link = copied(page)
    assert "&race=" not in link
    assert "alpha=" in link
    there.goto(link)
    there.wait_for_selector("[role=tab][aria-selected=true]:text('Cost')")


def test_copied_links_reopen_the_sandbox_and_a_tree(visit, another):
    page = visit.open()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("tab", name="Lossless?").click()
    laws = {"p": [0.5, 0.3, 0.1, 0.06, 0.04], "q": [0.1, 0.2, 0.3, 0.3, 0.1]}
    sandbox = {**laws, "preset": "", "candidates": 2, "rule": "lenience", "parameters": [0.4]}
    page.wait_for_function("window.specviz.sandbox?.question.idle")
    page.evaluate("to => window.specviz.sandbox.go(to)", sandbox)
    there = another.open(copied(page).removeprefix(another.url))
    there.wait_for_selector("[role=tab][aria-selected=true]:text('Lossless?')")
    found = there.evaluate("window.specviz.sandbox.state")
    assert {name: found[name] for name in sandbox} == sandbox
    page.get_by_role("tab", name="Trees").click()
    page.wait_for_function("window.specviz.grow?.view.answer")
    page.locator("#sv-grow-kind").select_option("chain")
    page.locator("#sv-grow-depth").fill("3")
    page.locator(".sv-grow-cold").check()
    page.wait_for_function("window.specviz.grow.question.idle")
    link = copied(page)
    assert "rules=" not in link
    there.goto(link)
    there.wait_for_selector("[role=tab][aria-selected=true]:text('Trees')")
    wanted, found = (one.evaluate("window.specviz.grow.state") for one in (page, there))
    assert wanted == found
    assert (found["kind"], found["tree"]["depth"], found["cold"]) == ("chain", 3, True)
    assert there.is_checked(".sv-grow-cold")


def filmed(page):
    """Press the button and return the film with its name."""
    with page.expect_download(timeout=120_000) as download:
        page.get_by_role("button", name="Save this round as a film").click()
    return download.value.suggested_filename, Image.open(
        BytesIO(download.value.path().read_bytes())
    )


def shot(film, number):
    """Return a picture of a film, and its milliseconds."""
    film.seek(number)
    return film.convert("RGB"), film.info["duration"]


def unlike(page, film, number, part):
    """Return the share of a part's pixels that differ between a film's picture and the page."""
    picture, _ = shot(film, number)
    strip, box = (page.locator(each).bounding_box() for each in (".sv-strip", part))
    scale = picture.width / (strip["width"] + 32)
    left, top = box["x"] - strip["x"] + 16, box["y"] - strip["y"] + 16
    ends = (left, top, left + box["width"], top + box["height"])
    shown = Image.open(BytesIO(page.locator(part).screenshot())).convert("L")
    kept = picture.crop([round(scale * each) for each in ends]).resize(shown.size).convert("L")
    apart = [abs(a - b) > 64 for a, b in zip(shown.tobytes(), kept.tobytes(), strict=True)]
    return sum(apart) / len(apart)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_animated_image_shows_every_step_of_the_round_as_the_page_does(visit, theme):
    page = visit.open("?trace=01-chain")
    visit.dress(theme)
    visit.step_to("Rejected")
    before = visit.ask("cursor")
    page.wait_for_url("**&step=judge-*")
    address = page.url
    name, film = filmed(page)
    number = visit.ask("numbers")[before["round"]]
    assert name == f"specviz-01-chain-round-{number}.gif"
    assert visit.ask("cursor") == before
    assert page.url == address
    expect(page.locator(".sv-verdict")).to_have_text("Rejected")
    visit.ask(f"go({before['round']}, 999)")
    steps = visit.ask("cursor.step") + 1
    assert film.n_frames == steps > 4
    assert film.info["loop"] == 0
    times = [shot(film, at)[1] for at in range(steps)]
    assert times[before["step"]] == 3000
    assert times[-1] == 4000
    for step in (0, before["step"]):
        visit.ask(f"go({before['round']}, {step})")
        apart = [unlike(page, film, at, ".sv-panel") for at in range(steps)]
        assert apart.index(min(apart)) == step
        assert min(apart) < 0.1


def test_animated_image_of_a_scrolled_text_shows_its_newest_line(visit):
    page = visit.open("?trace=01-chain")
    page.add_style_tag(content=".sv-text { height: 24px !important; }")
    visit.ask("last()")
    assert page.evaluate("document.querySelector('.sv-text').scrollTop") > 0
    _, film = filmed(page)
    assert unlike(page, film, film.n_frames - 1, ".sv-text") < 0.06


def test_browser_that_cannot_draw_the_page_says_so(visit):
    page = visit.open("?trace=01-chain")
    page.evaluate("""() => { CanvasRenderingContext2D.prototype.getImageData = () => {
      throw new DOMException("tainted", "SecurityError"); }; }""")
    page.get_by_role("button", name="Save this round as a film").click()
    expect(page.locator(".sv-film [role=status]")).to_contain_text(
        "This browser cannot make a film", timeout=60_000
    )
    expect(page.get_by_role("button", name="Save this round as a film")).to_be_enabled()


def test_printed_step_is_one_page_without_controls(looker):
    page = looker.look()
    looker.step_to("Rejected")
    document = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", document)) == 1
    page.emulate_media(media="print")
    for gone in (".sv-dock", "#sv-run", ".sv-tools", ".sv-guess", ".sv-pictures"):
        assert page.locator(gone).first.is_hidden(), gone
    for stays in (".sv-strip", ".sv-say", ".sv-tree", ".sv-panel", ".sv-time", ".sv-where"):
        assert page.locator(stays).first.is_visible(), stays


def worksheet(page, label):
    page.get_by_role("button", name=f"Worksheet {label}").click()
    return page.locator(".sv-sheet")


@pytest.mark.parametrize("name", ["01-chain", "9-02-ngram", "9-03-tree", "9-09-greedy"])
def test_worksheet_prints_on_one_a4_page_without_colour(looker, name):
    page = looker.look(name)
    looker.step_to("Rejected")
    for label in ("blank", "with solutions"):
        sheet = worksheet(page, label)
        document = page.pdf(prefer_css_page_size=True, print_background=True)
        assert len(re.findall(rb"/Type\s*/Page\b", document)) == 1
        box = re.search(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", document).groups()
        assert [round(float(side)) for side in box] == [595, 842]
        inks = """(all) => all.flatMap((each) => {
          const { color, borderTopColor, backgroundColor } = getComputedStyle(each);
          return [color, borderTopColor, backgroundColor];
        })"""
        colours = set(sheet.locator("*").evaluate_all(inks))
        assert colours <= {"rgb(0, 0, 0)", "rgba(0, 0, 0, 0)"}
        expect(sheet).to_contain_text("Name")
        expect(sheet).to_contain_text("Date")
        page.keyboard.press("Escape")
        expect(sheet).to_have_count(0)


def test_worksheet_shows_solutions_only_if_requested(looker):
    page = looker.look()
    looker.step_to("Rejected")
    verdict = looker.ask("frame.panel")
    page.evaluate("window.specviz.players['sv-step'].next()")
    table = looker.ask("frame.panel.table")
    sheet = worksheet(page, "blank")
    given = [[*row["t"][:2], row["t"][3] if "rest" in row else "", ""] for row in table["rows"]]
    rows = sheet.locator("tbody tr:not(.sv-sheet-sum)")
    assert [row.locator("td").all_inner_texts() for row in rows.all()] == given
    expect(sheet.locator("li b")).to_have_count(0)
    page.get_by_role("button", name="With solutions", exact=True).click()
    assert [row.locator("td").all_inner_texts() for row in rows.all()] == [
        [t[0], t[1], t[3], t[4]] for t in (row["t"] for row in table["rows"])
    ]
    answers = sheet.locator("li b").all_inner_texts()
    assert answers[0].endswith(f"= {verdict['text']['threshold']}")
    assert answers[1].startswith("rejected")
    assert answers[3] == table["total"]["left"]
    (drawn,) = (row for row in table["rows"] if row.get("is") == "drawn")
    shown = "".join(piece for piece in drawn["w"] if isinstance(piece, str))
    assert answers[5].strip().startswith(shown)
    page.keyboard.press("Escape")


def test_worksheet_falls_back_to_a_rejection_and_escapes_html(looker):
    page = looker.look()
    page.evaluate("window.specviz.players['sv-step'].first()")
    page.evaluate("""() => { const { run } = window.specviz.players["sv-step"];
      window.promptBefore = run.prompt; run.prompt = "<img src=x onerror=alert(1)>"; }""")
    sheet = worksheet(page, "with solutions")
    expect(sheet.locator(".sv-sheet-text")).to_contain_text("<img src=x")
    expect(sheet.locator("img")).to_have_count(0)
    expect(sheet.locator("li b").nth(1)).to_contain_text("rejected")
    page.keyboard.press("Escape")
    page.evaluate("window.specviz.players['sv-step'].run.prompt = window.promptBefore")
    assert looker.ask("frame.step.is") == "rejected"


def test_presenter_mode_hides_the_form_and_obeys_a_presentation_remote(visit):
    page = visit.open("?trace=01-chain&present=1")
    page.evaluate("window.specviz.players['sv-step'].pause()")
    page.evaluate("window.specviz.players['sv-step'].first()")
    hidden = ("#sv-run", ".sv-tools", ".sv-source", "[role=tab]", ".sv-pictures")
    for each in hidden:
        expect(page.locator(each).first).to_be_hidden()
    assert page.evaluate("document.body.classList.contains('sv-large')")
    taken = [visit.ask("cursor")]
    for key in ("PageDown", "ArrowRight", "PageDown", "PageUp"):
        page.keyboard.press(key)
        taken.append(visit.ask("cursor"))
    assert len({tuple(each.values()) for each in taken}) == 4
    assert taken[4] == taken[2]
    page.keyboard.press("Escape")
    for each in hidden:
        expect(page.locator(each).first).to_be_visible()
    assert not page.evaluate("document.body.classList.contains('sv-large')")
    assert "present" not in page.url
    before = visit.ask("cursor")
    page.keyboard.press("PageDown")
    assert visit.ask("cursor") == before  # it scrolls again
    page.get_by_role("button", name="Present").click()
    expect(page.locator("#sv-run")).to_be_hidden()


@pytest.fixture
def presenter(visit):
    """A visitor in presenter mode, at the start of a run that stands still."""
    page = visit.open("?trace=01-chain&present=1")
    page.evaluate("window.specviz.players['sv-step'].pause()")
    page.evaluate("window.specviz.players['sv-step'].first()")
    return visit


def open_notes(page):
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    notes.wait_for_selector(".say")
    return notes


def test_notes_window_shows_the_current_step_and_can_change_it(presenter):
    page = presenter.page
    notes = open_notes(page)
    expect(notes.locator(".say")).to_contain_text(presenter.caption()[:40])
    for press, key in (("Next", None), (None, "PageDown"), (None, "ArrowRight")):
        following = notes.locator(".next").inner_text()
        if press:
            notes.get_by_role("button", name=press, exact=True).click()
        else:
            notes.keyboard.press(key)
        notes.wait_for_function(
            "(old) => document.querySelector('.next').innerText !== old", arg=following
        )
        expect(notes.locator(".say")).to_contain_text(presenter.caption()[:20])
    moved = presenter.ask("cursor")
    assert moved != {"round": 0, "step": 0}
    notes.keyboard.press("PageUp")
    page.wait_for_function(
        "(old) => JSON.stringify(window.specviz.players['sv-step'].cursor) !== old",
        arg=json.dumps(moved, separators=(",", ":")),
    )
    page.evaluate("window.specviz.players['sv-step'].last()")
    expect(notes.locator(".say")).to_contain_text(presenter.caption()[:40])
    expect(notes.locator(".next")).to_have_text("End of the run")
    notes.close()


def test_clock_in_the_notes_window_runs_and_can_be_restarted(presenter):
    notes = open_notes(presenter.page)
    clock = notes.locator(".clock")
    expect(clock).not_to_have_text("00:00")
    notes.evaluate(
        "() => { const now = performance.now.bind(performance);"
        " performance.now = () => now() + 754000; }"
    )
    expect(clock).to_have_text(re.compile("12:3"))
    notes.get_by_role("button", name="Restart the clock").click()
    expect(clock).to_have_text(re.compile("00:0"))
    notes.close()


def test_blocked_notes_window_is_explained(presenter):
    page = presenter.page
    page.evaluate("() => { window.open = () => null; }")
    page.keyboard.press("n")
    expect(page.locator(".sv-notice")).to_contain_text("Allow pop-ups for this page")


def test_notes_window_obeys_its_content_policy_and_needs_an_open_page(presenter):
    page = presenter.page
    notes = open_notes(page)
    policy = page.request.get(notes.url).headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    page.goto("about:blank")
    expect(notes.get_by_role("alert")).to_contain_text("does not answer")
    notes.close()
    alone = page.context.new_page()
    alone.add_init_script(
        "window.violations = []; document.addEventListener('securitypolicyviolation', "
        "(event) => window.violations.push(event.violatedDirective));"
    )
    alone.goto(presenter.url + "gradio_api/sv/notes")
    expect(alone.get_by_role("alert")).to_contain_text("then press N")
    assert alone.evaluate("window.violations") == []
    alone.close()
