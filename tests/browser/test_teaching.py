"""Tools for teachers: links to a step, films, worksheets and printing."""

import re
from functools import partial
from io import BytesIO
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image
from playwright.sync_api import expect
from test_pictures import share_apart
from visit import Visit, share

PLAYER = "window.specviz['sv-step']"
RACE = "window.specviz['sv-race']"
KEYS = ("PageDown", "ArrowRight", "PageUp")  # of a remote control
OPEN_TAB = "[role=tab][aria-selected=true]:text-is('{}')"
# A promise made before the click, since the button confirms the copy only for a moment.
SAID_SO = """() => {
  const button = document.querySelector(".sv-copy");
  window.saidSo = new Promise((done) =>
    new MutationObserver(() => button.classList.contains("sv-said-so") && done())
      .observe(button, { attributes: true }));
}"""


def copied(page, before_click=""):
    """Return the link that the button copies."""
    page.bring_to_front()  # the clipboard is that of the page in front
    page.evaluate(SAID_SO)
    page.evaluate(f"() => {{ {before_click}; document.querySelector('.sv-copy').click(); }}")
    page.evaluate("window.saidSo")
    return page.evaluate("navigator.clipboard.readText()")


def names(link):
    """Return what a link names, by key."""
    return {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}


def test_copied_links_open_the_same_step_tab_race_and_sandbox_in_another_window(visit):
    page = visit.open("?trace=01-chain&round=1&step=propose-1")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    link = copied(page, f"{PLAYER}.next()")
    assert names(link)["step"] == visit.ask("frame.step.id"), "the step when the button is clicked"
    visit.step_to("Rejected")
    other = Visit(page.context.new_page(), visit.url)
    there = other.open(copied(page).removeprefix(other.url))
    there.wait_for_function("document.querySelector('.sv-verdict').textContent === 'Rejected'")
    assert other.ask("cursor") == visit.ask("cursor")
    for name in ("Models", "Trees"):
        page.get_by_role("tab", name=name, exact=True).click()
        assert names(page.url)["tab"] == name.lower()
        assert names(copied(page))["tab"] == name.lower()
    page.reload()
    page.wait_for_selector(OPEN_TAB.format("Trees"))
    page.go_back()
    page.wait_for_selector(OPEN_TAB.format("Models"))
    page.get_by_role("tab", name="Step", exact=True).click()
    assert "tab" not in names(page.url)
    a_recorded_race_opens(page, there)
    page.get_by_role("tab", name="Cost").click()
    page.get_by_label("number input for α, acceptance").fill("0.8")
    page.wait_for_url("**alpha=0.8**")
    assert {"alpha", "race"} & names(copied(page)).keys() == {"alpha"}
    the_sandbox_opens(page, there)
    there.close()
    assert not other.errors


def a_recorded_race_opens(page, there):
    page.get_by_role("tab", name="Compare").click()
    page.wait_for_function(f"{RACE.replace('races', 'races?.')}?.whole")
    page.evaluate(f"{RACE}.load('2-repeat')")
    page.wait_for_url("**race=2-repeat**")
    there.goto(copied(page))
    there.wait_for_selector(OPEN_TAB.format("Compare"))
    there.wait_for_function("window.specviz?.['sv-race']?.race?.id === '2-repeat'")
    live = {**page.evaluate(f"{RACE}.race"), "source": "live"}
    page.evaluate(f"line => {{ {RACE}.begin(); {RACE}.hear([line]); }}", live)
    link = names(copied(page))
    expect(page.locator(".sv-copy")).to_contain_text("without your live race")
    assert (link["tab"], "race" in link) == ("compare", False)


def the_sandbox_opens(page, there):
    page.get_by_role("tab", name="Lossless?").click()
    laws = {"p": [0.5, 0.3, 0.1, 0.06, 0.04], "q": [0.1, 0.2, 0.3, 0.3, 0.1]}
    sandbox = {**laws, "preset": "", "candidates": 2, "rule": "lenience", "parameters": [0.4]}
    page.wait_for_function("window.specviz?.['sv-sand']?.idle")
    page.evaluate("to => window.specviz['sv-sand'].go(to)", sandbox)
    there.goto(copied(page))
    there.wait_for_selector(OPEN_TAB.format("Lossless?"))
    there.wait_for_function("window.specviz?.['sv-sand']?.idle")
    found = there.evaluate("window.specviz['sv-sand'].state")
    assert {name: found[name] for name in sandbox} == sandbox


def filmed(page):
    """Press the button; return the film's name, its pictures, and the milliseconds of each."""
    with page.expect_download(timeout=120_000) as download:
        share(page, "Save this round as a film")
    film = Image.open(BytesIO(download.value.path().read_bytes()))
    assert film.info["loop"] == 0
    shots, times = [], []
    for at in range(film.n_frames):
        film.seek(at)
        shots.append(film.convert("RGB"))
        times.append(film.info["duration"])
    return download.value.suggested_filename, shots, times


def unlike(page, shots, part):
    """Return, for each picture, the share of a part's pixels that differ from the page."""
    strip, box = (page.locator(each).bounding_box() for each in (".sv-strip", part))
    left, top = box["x"] - strip["x"] + 16, box["y"] - strip["y"] + 16
    ends = (left, top, left + box["width"], top + box["height"])
    shown = Image.open(BytesIO(page.locator(part).screenshot())).convert("L")
    found = []
    for picture in shots:
        scale = picture.width / (strip["width"] + 32)
        kept = picture.crop([round(scale * each) for each in ends]).resize(shown.size)
        found.append(share_apart(shown, kept.convert("L")))
    return found


def test_film_shows_every_step_of_the_round_as_the_page_does(visit):
    page = visit.open("?trace=01-chain")
    visit.dress("dark")
    visit.step_to("Rejected")
    before = visit.ask("cursor")
    page.wait_for_url("**&step=judge-*")
    address = page.url
    name, shots, times = filmed(page)
    assert name == f"specviz-01-chain-round-{visit.ask('numbers')[before['round']]}.gif"
    assert (visit.ask("cursor"), page.url) == (before, address), "the run stays at its step"
    expect(page.locator(".sv-verdict")).to_have_text("Rejected")
    visit.ask(f"go({before['round']}, 999)")
    assert len(shots) == visit.ask("cursor.step") + 1 > 4
    assert 9_800 <= sum(times) <= 10_200
    assert times[-1] > times[before["step"]] > times[0], "more time for more to read"
    for step in (0, before["step"]):
        visit.ask(f"go({before['round']}, {step})")
        apart = unlike(page, shots, ".sv-panel")
        assert apart.index(min(apart)) == step
        assert min(apart) < 0.1
    page.add_style_tag(content=".sv-text { height: 24px !important; }")
    visit.show("9-28-smollm2-summary")  # a long prompt, whose round has few steps
    visit.ask("go(0, 2)")
    assert page.evaluate("document.querySelector('.sv-text').scrollTop") > 0
    _, shots, _ = filmed(page)
    assert unlike(page, shots[-1:], ".sv-text")[0] < 0.06, "the newest line of a scrolled text"
    page.evaluate("CanvasRenderingContext2D.prototype.getImageData = undefined")
    share(page, "Save this round as a film")
    said = page.locator(".sv-film [role=status]")
    expect(said).to_contain_text("This browser cannot make a film")


def pages_of(page):
    """Print; return the size of each sheet of paper."""
    document = page.pdf(prefer_css_page_size=True, print_background=True)
    number = len(re.findall(rb"/Type\s*/Page\b", document))
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", document)
    sizes = [[round(float(side)) for side in box] for box in boxes]
    return sizes * number if len(sizes) == 1 else sizes


def one_page(page):
    """Print; return the size of the paper, of which there must be one sheet."""
    (size,) = pages_of(page)
    return size


def worksheet(page, label):
    share(page, f"Worksheet {label}")
    return page.locator(".sv-sheet")


INKS = """(all) => all.flatMap((each) => {
  const { color, borderTopColor, backgroundColor } = getComputedStyle(each);
  return [color, borderTopColor, backgroundColor];
})"""


def test_step_and_worksheets_print_on_one_page_each(looker):
    page = looker.look()
    looker.step_to("Rejected")
    one_page(page)
    page.emulate_media(media="print")
    for gone in (".sv-dock", "#sv-run", ".sv-tools", ".sv-guess", ".sv-pictures"):
        assert page.locator(gone).first.is_hidden(), gone
    for stays in (".sv-strip", ".sv-say", ".sv-tree", ".sv-panel", ".sv-time", ".sv-where"):
        assert page.locator(stays).first.is_visible(), stays
    page.emulate_media(media="null")
    for name in ("01-chain", "9-02-ngram", "9-03-tree", "9-09-greedy"):
        looker.show(name)
        looker.step_to("Rejected")
        for label in ("blank", "solutions"):
            sheet = worksheet(page, label)
            assert one_page(page) == [595, 842], f"A4: {label} of {name}"
            colours = set(sheet.locator("*").evaluate_all(INKS))
            assert colours <= {"rgb(0, 0, 0)", "rgba(0, 0, 0, 0)"}, f"{label} of {name}"
            page.keyboard.press("Escape")
            expect(sheet).to_have_count(0)


def cells(sheet):
    """Return the texts of a worksheet's table, row by row, without the sum."""
    rows = sheet.locator("tbody tr:not(.sv-sheet-sum)").all()
    return [row.locator("td").all_inner_texts() for row in rows]


def test_worksheet_shows_solutions_only_if_requested(looker):
    page = looker.look()
    looker.step_to("Rejected")
    verdict = looker.ask("frame.panel")
    looker.ask("next()")
    table = looker.ask("frame.panel.table")
    sheet = worksheet(page, "blank")
    *blank, others = cells(sheet)
    assert len(blank) + 1 == len(table["rows"])
    assert all(row[2:] == ["", ""] for row in blank)
    assert others[2] != others[3] == ""
    expect(sheet.locator("li b")).to_have_count(0)
    page.get_by_role("button", name="Solutions", exact=True).click()
    solved = cells(sheet)
    assert [row[:2] for row in solved] == [row[:2] for row in [*blank, others]]
    for p, q, left in ([float(text) for text in row[:3]] for row in solved[:-1]):
        assert left == pytest.approx(max(p - q, 0))
    answers = sheet.locator("li b").all_inner_texts()
    (drawn,) = (row for row in table["rows"] if row.get("is") == "drawn")
    shown = "".join(piece for piece in drawn["w"] if isinstance(piece, str))
    assert answers[0].endswith(f"= {verdict['text']['threshold']}")
    assert answers[1].startswith("rejected")
    assert answers[3] == sheet.locator(".sv-sheet-sum td").nth(2).inner_text()
    assert answers[5].strip().startswith(shown)
    page.keyboard.press("Escape")
    looker.ask("first()")
    worksheet(page, "solutions")
    page.keyboard.press("Escape")
    assert looker.ask("frame.step.is") == "rejected", "a step without a verdict has no worksheet"


def test_worksheets_of_a_run_have_solutions_alone_or_after_the_blank_pages(looker):
    page = looker.look()
    share(page, "Worksheets of this run, solutions")
    sheets, tools = page.locator(".sv-sheet"), page.locator(".sv-sheet-tools")
    number = sheets.count()
    blank = [f"Speculative decoding: decision {at + 1} of {number}" for at in range(number)]
    solved = [f"{title} (solutions)" for title in blank]
    assert sheets.locator("h1").all_inner_texts() == solved
    tools.get_by_role("button", name="Blank and solutions").click()
    assert sheets.locator("h1").all_inner_texts() == blank + solved
    answers = [sheet.locator("li b").all_inner_texts() for sheet in sheets.all()]
    assert not any(answers[:number])
    assert all(each[1].startswith("rejected") for each in answers[number:])
    assert len(pages_of(page)) == 2 * number
    every = tools.get_by_role("button", name=re.compile(r"All \d+ decisions"))
    wanted = int(re.search(r"\d+", every.inner_text())[0])
    every.click()
    tools.get_by_role("button", name="Blank", exact=True).click()
    expect(sheets).to_have_count(wanted)
    assert wanted > number
    tools.get_by_label("First decision").fill("2")
    tools.get_by_label("First decision").press("Tab")
    expect(sheets).to_have_count(wanted - 1)
    tools.get_by_label("Last decision").fill("3")
    tools.get_by_label("Last decision").press("Tab")
    titles = [f"Speculative decoding: decision {at} of {wanted}" for at in (2, 3)]
    expect(sheets.locator("h1")).to_have_text(titles)
    page.keyboard.press("Escape")
    expect(sheets).to_have_count(0)


def test_worksheet_does_not_ask_to_divide_a_residual_of_0(looker):
    page = looker.look()
    looker.show("9-09-greedy")
    looker.step_to("Accepted")
    sheet = worksheet(page, "solutions")
    expect(sheet.locator("li").last).to_contain_text("0 everywhere: nothing is missing")
    expect(sheet).not_to_contain_text("Divide")
    expect(sheet.locator("thead")).not_to_contain_text("scaled")
    page.keyboard.press("Escape")


def presented(visit):
    """Open presenter mode at the start of a run that stands still."""
    page = visit.open("?trace=01-chain&present=1")
    visit.ask("pause()")
    visit.ask("first()")
    return page


def test_presenter_mode_obeys_a_remote_and_has_one_large_part_in_a_low_window(visit):
    page = presented(visit)
    hidden = ("#sv-run", ".sv-tools", ".sv-source", "[role=tab]", ".sv-pictures")
    for each in hidden:
        expect(page.locator(each).first).to_be_hidden()
    assert page.evaluate("document.body.classList.contains('sv-large')")
    taken = []
    for key in ("PageDown", "ArrowRight", "PageDown", "PageUp"):
        page.keyboard.press(key)
        taken.append(visit.ask("cursor"))
    assert taken[0] != taken[1] != taken[2] != taken[3] == taken[1]
    page.evaluate("() => { window.open = () => null; }")
    page.keyboard.press("n")
    expect(page.locator(".sv-notice")).to_contain_text("Allow pop-ups for this page")
    leave = page.get_by_role("button", name="Leave Present")
    for size in ((1280, 720), (1024, 768)):
        one_large_part_is_shown_at_a_time(visit, *size)
    expect(leave).to_be_in_viewport(ratio=1)
    leave.click()
    expect(leave).to_be_hidden()
    for each in hidden:
        expect(page.locator(each).first).to_be_visible()
    assert not page.evaluate("document.body.classList.contains('sv-large')")
    assert "present" not in page.url
    before = visit.ask("cursor")
    page.keyboard.press("PageDown")
    assert visit.ask("cursor") == before, "it scrolls again"
    page.get_by_role("button", name="Present").click()
    expect(page.locator("#sv-run")).to_be_hidden()


# The sizes of texts on the screen, in pixels, by the names of the parts that have them.
SIZES = """(names) => names.map((name) => {
  const shown = [...document.querySelectorAll(name)].filter((each) => each.checkVisibility());
  const size = (each) => parseFloat(getComputedStyle(each).fontSize) * each.currentCSSZoom;
  return [name, Math.min(...shown.map(size))];
})"""


def one_large_part_is_shown_at_a_time(visit, width, height):
    page = visit.page
    page.set_viewport_size({"width": width, "height": height})
    visit.ask("first()")
    at = "document.querySelector('.sv-dock').getBoundingClientRect().bottom"
    docks = set()
    for until, part, texts in (
        ("frame.step.kind === 'propose'", ".sv-tree-part", [".sv-at"]),
        ("frame.step.kind === 'score'", ".sv-pass", [".sv-pass-row"]),
        ("frame.caption.is === 'rejected'", ".sv-panel", [".sv-mr", ".sv-mh", ".sv-toss-hint"]),
        ("frame.caption.is === 'recovered'", ".sv-panel", [".sv-mr", ".sv-toss-hint"]),
    ):
        visit.step_until("player.cursor.round && " + until)
        for each in (".sv-tree-part", ".sv-pass", ".sv-panel"):
            expect(page.locator(each).first).to_be_visible(visible=each == part)
        assert min(size for _, size in page.evaluate(SIZES, texts)) > 18, until
        docks.add(round(page.evaluate(at)))
    assert len(docks) == 1, "the buttons stay where they are"
    assert max(docks) <= height


def lead_from_notes(visit, notes):
    """Step on and back in the window of notes, which shows what comes."""
    said, following = notes.locator(".say"), notes.locator(".next")
    expect(said).to_contain_text(visit.caption()[:40])
    button = notes.get_by_role("button", name="Next", exact=True)
    for step in (button.click, *(partial(notes.keyboard.press, key) for key in KEYS)):
        old, before = following.inner_text(), visit.ask("cursor")
        step()
        expect(following).not_to_have_text(old)
        expect(said).to_contain_text(visit.caption()[:20])
        assert visit.ask("cursor") != before
    visit.ask("last()")
    expect(said).to_contain_text(visit.caption()[:40])
    expect(following).to_have_text("End of the run")


def test_notes_window_follows_and_leads_and_has_a_clock(visit):
    page = presented(visit)
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    lead_from_notes(visit, notes)
    clock = notes.locator(".clock")
    later = "const now = performance.now.bind(performance); performance.now = () => now() + 754000"
    notes.evaluate(f"() => {{ {later}; }}")
    expect(clock).to_have_text(re.compile("12:3"))
    notes.get_by_role("button", name="Restart the clock").click()
    expect(clock).to_have_text(re.compile("00:0"))
    policy = page.request.get(notes.url).headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    page.goto("about:blank")
    expect(notes.get_by_role("alert")).to_contain_text("does not answer")
    notes.close()
    alone = page.context.new_page()
    alone.goto(visit.url + "gradio_api/sv/notes")
    expect(alone.get_by_role("alert")).to_contain_text("then press N")
    alone.close()
