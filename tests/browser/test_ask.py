"""Experiments of the sandbox: while one is answered, only the newest of the others waits."""

import json

SANDBOX = "window.specviz['sv-sand']"
FIRST = {
    "p": [0.5, 0.3, 0.1, 0.06, 0.04], "q": [0.1, 0.2, 0.3, 0.3, 0.1], "preset": "",
    "candidates": 2, "rule": "lenience",
}  # fmt: skip


def rule_of(request):
    """Return the rule that an event of the sandbox asks for; None for any other event."""
    data = json.loads(request.post_data or "{}").get("data") or [None]
    return data[0].get("rule") if isinstance(data[0], dict) else None


def test_newest_experiment_is_sent_after_an_answer(visit):
    page = visit.open("?tab=lossless")
    page.wait_for_function("window.specviz?.['sv-sand']?.idle")
    held, sent = [], []

    def hold(route):
        rule = rule_of(route.request)
        if rule is None:
            route.continue_()
            return
        sent.append(rule)
        if len(sent) == 1:
            held.append(route)
        else:
            route.continue_()

    def choose(lenience):
        page.evaluate(f"(to) => {SANDBOX}.go(to)", {**FIRST, "parameters": [lenience]})

    page.route("**/run/predict*", hold)
    for value in (0.2, 0.3, 0.4):
        choose(value)
    page.wait_for_function(f"{SANDBOX}.state.parameters[0] === 0.4")
    page.wait_for_timeout(300)
    assert sent == ["lenience:0.2"]
    assert not page.evaluate(f"{SANDBOX}.idle")
    held[0].continue_()
    page.wait_for_function(f"{SANDBOX}.idle")
    assert sent == ["lenience:0.2", "lenience:0.4"]
