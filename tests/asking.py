"""Ask a section of the page a question, as the browser does."""

from __future__ import annotations

import json
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from specviz.ui.questions import LONGEST, Answer, Questions
from specviz.ui.routes import PREFIX

JSON = {"Content-Type": "application/json"}


def ask(answer: Answer, question: Any, longest: int = LONGEST) -> dict[str, Any]:
    """Return the section's answer, or the error message that the page receives.

    Args:
        answer: The section's function.
        question: JSON text, or an object to encode.
        longest: How many characters the section allows.
    """
    questions = Questions()
    questions.add("section", answer, longest)
    client = TestClient(Starlette(routes=[questions.route()]), raise_server_exceptions=True)
    text = question if isinstance(question, str) else json.dumps(question)
    came = client.post(f"{PREFIX}/ask/section", content=text.encode(), headers=JSON)
    told: dict[str, Any] = came.json()
    assert came.status_code == 200 or "problem" in told, came.text
    assert came.status_code in (200, 400), came.text
    return told
