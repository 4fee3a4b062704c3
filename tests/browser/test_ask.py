"""Requests of a section: at most one is in progress; afterwards only the newest is sent."""

import json

from costs import LAW, opened

FORMULA = "**/sv/ask/law"


def test_newest_request_is_sent_after_a_response_and_after_a_failure(visit):
    page = opened(visit)
    held, sent = [], []

    def hold(route):
        sent.append(json.loads(route.request.post_data)["c"])
        if len(sent) == 1:
            held.append(route)
        else:
            route.continue_()

    page.route(FORMULA, hold)
    box = page.locator("[data-name=c] [type=number]")
    for value in ("0.2", "0.3", "0.4"):
        box.fill(value)
    page.wait_for_function(f"{LAW}.state.c === 0.4")
    assert sent == [0.2]
    assert not page.evaluate(f"{LAW}.question.idle")
    held[0].continue_()
    page.wait_for_function(f"{LAW}.question.idle")
    assert sent == [0.2, 0.4]
    assert "c = 0.4" in page.inner_text(".sv-law-best")
    page.unroute(FORMULA)
    page.route(FORMULA, lambda route: route.abort())
    box.fill("0.2")
    notice = page.locator(".sv-law-notice")
    notice.filter(has_text="The server does not answer").wait_for()
    visit.errors.clear()  # the browser reports the request that was aborted
    page.unroute(FORMULA)
    box.fill("0.3")
    notice.wait_for(state="hidden")
    assert "c = 0.3" in page.inner_text(".sv-law-best")
