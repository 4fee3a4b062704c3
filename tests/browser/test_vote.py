"""A class vote with a projector and two phones, in a browser."""

from playwright.sync_api import expect

PHONE = {"width": 390, "height": 844}
ROOM = {"code": "ABCDE", "key": "of an hour ago", "qr": "", "asked": "", "open": None}


def ask_next(page):
    """Step on until a verdict is asked for."""
    page.evaluate("""() => {
      for (let steps = 0; steps < 60; steps += 1) {
        if (document.querySelector(".sv-answers")) return;
        window.specviz["sv-step"].next();
      }
    }""")
    expect(page.locator(".sv-answers")).to_be_visible()


def test_projector_counts_phone_votes_reveals_the_verdict_and_asks_again(visit, another):
    page = visit.open("?trace=01-chain")
    visit.ask("first()")
    page.get_by_role("button", name="Ask the class").click()
    address = f"{visit.url}vote/{page.locator('.sv-vote-code').inner_text()}"
    expect(page.locator(".sv-vote-address")).to_have_text(address)
    expect(page.locator(".sv-vote-room")).to_contain_text("specviz serve --host 0.0.0.0")
    expect(page.locator(".sv-vote img")).to_have_count(0)
    phones = one, two = another.page, page.context.new_page()
    for phone in phones:
        phone.set_viewport_size(PHONE)
        phone.goto(address)
        expect(phone.locator("#status")).to_contain_text("Wait for the first question")
    ask_next(page)
    for phone in phones:
        expect(phone.locator("#status")).to_have_text("Your prediction?")
        expect(phone.locator("#numbers")).to_contain_text("p = ")
    one.get_by_role("button", name="Accepted").click()
    expect(page.locator("[data-count=all]")).to_have_text("1")
    two.get_by_role("button", name="Rejected").click()
    expect(page.locator("[data-count=all]")).to_have_text("2")
    expect(page.locator(".sv-vote-bar")).to_have_count(0)  # nobody follows the others
    page.reload()
    page.wait_for_function("window.specviz?.['sv-step']?.rounds")
    ask_next(page)  # the same verdict, which stays open
    expect(page.locator("[data-count=all]")).to_have_text("2")
    one.reload()
    expect(one.locator("#status")).to_have_text("Your answer is counted, and cannot be changed.")
    for answer in ("Accepted", "Rejected"):
        expect(one.get_by_role("button", name=answer)).to_be_disabled()
    visit.ask("next()")
    said = "accepted" if visit.ask("frame.panel.accepted") else "rejected"
    expect(one.locator("#status")).to_contain_text(f"It was {said}.")
    expect(page.locator(".sv-vote-right")).to_contain_text(said.capitalize())
    for answer in ("accepted", "rejected"):
        expect(page.locator(f"[data-count={answer}]")).to_have_text("1")
    ask_next(page)
    expect(two.get_by_role("button", name="Accepted")).to_be_enabled()
    expect(page.locator("[data-count=all]")).to_have_text("0")
    page.get_by_role("button", name="Close the vote").click()
    expect(two.locator("#status")).to_have_text("The vote is over.")
    expect(page.locator(".sv-vote")).to_have_count(0)
    two.close()


def test_room_that_is_over_is_forgotten_when_the_page_returns(visit):
    page = visit.open("?trace=01-chain")
    page.evaluate("room => sessionStorage.setItem('sv-vote-room', JSON.stringify(room))", ROOM)
    page.reload()
    expect(page.locator(".sv-notice")).to_contain_text("The class vote is over")
    expect(page.locator(".sv-vote")).to_have_count(0)
    assert page.evaluate("sessionStorage.getItem('sv-vote-room')") is None


def test_phone_says_why_it_is_refused_and_tries_again_unless_there_is_no_room(browser, url):
    page = browser.new_page(viewport=PHONE)
    refusal = {"problem": "Too many wrong codes were tried from your network."}
    page.route("**/lines*", lambda route: route.fulfill(status=429, json=refusal), times=2)
    page.goto(f"{url}vote/ABCDE")
    expect(page.locator("#status")).to_have_text(refusal["problem"])
    expect(page.locator("#status")).to_have_text("There is no room with this code.")
    page.goto(f"{url}vote")
    page.get_by_label("The five letters of the room").fill("fghjk")
    page.get_by_role("button", name="Join").click()
    expect(page.locator("#status")).to_have_text("There is no room with this code.")
    assert page.url == f"{url}vote/FGHJK"
    expect(page.get_by_role("button", name="Join")).to_be_visible()  # to try another one
    page.close()
