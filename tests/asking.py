"""Ask a section of the page a question, as the page's route does; see test_questions."""

from __future__ import annotations

import json
from typing import Any

from specviz.ui.questions import LONGEST, Answer, BadRequest, Section


def ask(answer: Answer, question: Any, longest: int = LONGEST) -> dict[str, Any]:
    """Return the section's answer, or the error message that the page receives.

    Args:
        answer: The section's function.
        question: JSON text, or an object to encode.
        longest: How many characters the section allows.
    """
    text = question if isinstance(question, str) else json.dumps(question)
    try:
        response: dict[str, Any] = json.loads(Section(answer, longest).respond(text.encode()))
    except BadRequest as problem:
        return {"problem": str(problem)}
    return response
