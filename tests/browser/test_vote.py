"""A class vote with a projector and two phones, in a browser."""

import time

import pytest
from playwright.sync_api import expect

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def phones(browser, url):
    """Two phones, each with its own storage; console errors are reported."""
    contexts = [browser.new_context(viewport=PHONE) for _ in range(2)]
    errors = []
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    yield pages
    for context in contexts:
        context.close()
    assert not errors


def count(page, name):
    return page.locator(f"[data-count={name}]")


@pytest.fixture
def projector(visit):
    """A teacher's page with an open room."""
    page = visit.open("?trace=01-chain")
    player = "window.specviz.players['sv-step']"
    page.evaluate(f"{player}.pause()")
    page.evaluate(f"{player}.first()")
    page.get_by_role("button", name="Ask the class").click()
    return page


@pytest.fixture
def class_of_two(projector, phones, url):
    """Two phones in the projector's room, and the first question."""
    code = projector.locator(".sv-vote-code").inner_text()
    expect(projector.locator(".sv-vote-address")).to_have_text(f"{url}vote/{code}")
    for phone in phones:
        phone.goto(f"{url}vote/{code}")
        expect(phone.locator("#status")).to_contain_text("Wait for the first question")
    ask_next(projector)
    for phone in phones:
        expect(phone.locator("#status")).to_have_text("Your prediction?")
        expect(phone.locator("#numbers")).to_contain_text("p = ")
    return phones


def test_projector_counts_phone_votes_reveals_the_verdict_and_asks_again(projector, class_of_two):
    page = projector
    one, two = class_of_two
    begun = time.monotonic()
    one.get_by_role("button", name="Accepted").click()
    expect(count(page, "accepted")).to_have_text("1", timeout=1000)
    assert time.monotonic() - begun < 1.5
    two.get_by_role("button", name="Rejected").click()
    expect(count(page, "rejected")).to_have_text("1", timeout=1000)
    expect(one.get_by_role("button", name="Rejected")).to_be_disabled()
    one.reload()
    expect(one.locator("#status")).to_have_text("Your answer is counted.")
    expect(one.get_by_role("button", name="Accepted")).to_be_disabled()
    page.evaluate("window.specviz.players['sv-step'].next()")
    verdict = page.evaluate("window.specviz.players['sv-step'].frame.panel.accepted")
    said = "accepted" if verdict else "rejected"
    expect(one.locator("#status")).to_contain_text(f"It was {said}.")
    expect(page.locator(".sv-vote-right")).to_contain_text(said.capitalize())
    ask_next(page)
    expect(two.get_by_role("button", name="Accepted")).to_be_enabled()
    expect(count(page, "accepted")).to_have_text("0")
    page.get_by_role("button", name="Close the vote").click()
    expect(two.locator("#status")).to_have_text("The vote is over.")
    expect(page.locator(".sv-vote")).to_have_count(0)


def ask_next(page):
    """Step on until a verdict is asked for."""
    page.evaluate("""() => {
      for (let steps = 0; steps < 60; steps += 1) {
        if (document.querySelector(".sv-answers")) return;
        window.specviz.players["sv-step"].next();
      }
    }""")
    expect(page.locator(".sv-answers")).to_be_visible()
