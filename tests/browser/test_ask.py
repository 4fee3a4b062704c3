"""Requests of a section: at most one is in progress; afterwards only the newest is sent."""

import json

ASKED = "**/sv/ask/sandbox"
SANDBOX = "window.specviz['sv-sand']"
FIRST = {
    "p": [0.5, 0.3, 0.1, 0.06, 0.04], "q": [0.1, 0.2, 0.3, 0.3, 0.1], "preset": "",
    "candidates": 2, "rule": "lenience",
}  # fmt: skip


def test_newest_request_is_sent_after_a_response_and_after_a_failure(visit):
    page = visit.open("?tab=lossless")
    page.wait_for_function(f"{SANDBOX}?.question.idle")
    held, sent = [], []

    def hold(route):
        sent.append(json.loads(route.request.post_data)["rule"])
        if len(sent) == 1:
            held.append(route)
        else:
            route.continue_()

    def choose(lenience):
        page.evaluate(f"(to) => {SANDBOX}.go(to)", {**FIRST, "parameters": [lenience]})

    page.route(ASKED, hold)
    for value in (0.2, 0.3, 0.4):
        choose(value)
    page.wait_for_function(f"{SANDBOX}.state.parameters[0] === 0.4")
    page.wait_for_timeout(300)
    assert sent == ["lenience:0.2"]
    assert not page.evaluate(f"{SANDBOX}.question.idle")
    held[0].continue_()
    page.wait_for_function(f"{SANDBOX}.question.idle")
    assert sent == ["lenience:0.2", "lenience:0.4"]
    page.unroute(ASKED)
    page.route(ASKED, lambda route: route.abort())
    choose(0.2)
    notice = page.locator(".sv-sand-notice")
    notice.filter(has_text="The server does not answer").wait_for()
    visit.errors.clear()  # the browser reports the request that was aborted
    page.unroute(ASKED)
    choose(0.3)
    page.wait_for_function("document.querySelector('.sv-sand-notice').textContent === ''")
