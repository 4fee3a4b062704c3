"""The API endpoint for other programs: settings in, trace out.

This module has no `from __future__ import annotations`, since Gradio reads the annotations of
`run`.
"""

from typing import Any, Final

import gradio as gr

from specviz.ui.api_calls import PER_ADDRESS, ApiCalls
from specviz.ui.request import HOUSE, USUAL, RunRequest
from specviz.ui.step.live import recorded
from specviz.ui.worker import Worker

NOTHING: Final[dict[str, Any]] = {}  # all settings at their defaults


def add(runs: Worker, any_model: bool, calls: ApiCalls) -> None:
    """Add the endpoint to the page that is being built; `calls` limits its calls."""

    async def run(
        request: gr.Request,
        prompt: str | list[dict[str, str]],
        drafter: str = USUAL,
        settings: dict[str, Any] = NOTHING,
        target: str = HOUSE,
    ) -> str:
        """Decode a prompt speculatively, then plainly, and return the run's trace.

        The call waits in the queue with the visitors' runs. The result is a trace file: JSON
        Lines, which `python -m specviz check` verifies. Errors have a readable sentence.

        Parameters:
            prompt: the text to continue, or to answer if the target has a chat template; or a
                conversation, like [{"role": "user", "text": "Hello"}].
            drafter: a name that `python -m specviz models` lists.
            settings: changes to the drafter's defaults, like {"sampling": {"temperature": 0},
                "gamma": 4, "seed": 1, "max_new_tokens": 64}; "coins" sets single values of u, like
                {"3 judge 2": 0.1}.
            target: a name that `python -m specviz models` lists.
        """
        given = {"prompt": prompt, "drafter": drafter, "settings": settings, "target": target}
        asked = RunRequest.from_json(given, any_model)
        address = str(request.client.host) if request.client else ""
        with calls.counted(address):
            run = runs.whole(recorded(asked), f"address {address}", PER_ADDRESS)
            return await calls.run_while_read(str(request.session_hash), run)

    # documented, although `gradio.__all__` does not list it
    gr.api(run, api_name="run", concurrency_limit=None)  # type: ignore[attr-defined]
