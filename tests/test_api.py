"""The API endpoint on a running server: the documented example, and rejected calls."""

import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from app_server import ROOT
from gradio_client import Client
from gradio_client.exceptions import AppError

from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.ui.api_calls import PER_ADDRESS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(server):
    """Return the address of the page."""
    return server.address


@pytest.fixture(scope="module")
def client(address):
    made = Client(address, verbose=False, analytics_enabled=False)
    yield made
    made.close()


def example():
    """Return the documented code for a client."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    section = page.split("## The HTTP endpoint\n")[1]
    return re.search(r"```python\n(.*?)```", section.split("\n## ")[0], flags=re.DOTALL)[1]


def test_documented_api_example_saves_a_trace_that_passes_check(address, tmp_path, monkeypatch):
    code = example()
    assert "http://127.0.0.1:7860/" in code
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code.replace("http://127.0.0.1:7860/", address), names)  # noqa: S102, our documentation
    names["client"].close()
    (saved,) = tmp_path.glob("*.jsonl")
    trace = Trace.read(saved)
    check(trace)
    assert trace.header.prompt in code
    assert trace.header.drafter.name in code
    assert trace.header.settings["gamma"] == 4
    assert trace.baseline is not None


def test_api_has_exactly_one_documented_endpoint(client):
    api = client.view_api(return_format="dict", print_info=False)
    assert api["unnamed_endpoints"] == {}
    ((name, run),) = api["named_endpoints"].items()
    assert name == "/run"
    assert "waits in the queue" in run["description"]
    facts = {p["parameter_name"]: p["parameter_default"] for p in run["parameters"]}
    assert facts == {"prompt": None, "drafter": "draft-model", "settings": {}, "target": "house"}
    assert [p["parameter_has_default"] for p in run["parameters"]] == [False, True, True, True]
    assert [value["type"] for value in run["returns"]] == [{"type": "string"}]


def test_api_client_receives_errors_of_one_sentence(client):
    turns = [{"role": "user", "text": "Hello"}]
    for prompt, sentence in (("", "prompt is empty"), (turns, "House has no chat template")):
        with pytest.raises(AppError, match=sentence) as refused:
            client.predict(prompt, api_name="/run")
        assert str(refused.value).endswith(".")


def test_api_calls_of_one_address_share_a_limit_and_cannot_skip_the_queue(address):
    """Four calls compute or wait, whatever sessions they name; a fifth is refused."""
    calls = f"{address.rstrip('/')}/gradio_api/call/run"
    asked = {"data": ["Once upon a time", "draft-model", {"max_new_tokens": 64}, "house"]}

    def finish(event):
        return httpx.get(f"{calls}/{event}", timeout=120).text

    def call(number):
        session = {"session_hash": f"invented {number}"} if number % 2 else {}
        return httpx.post(calls, json=asked | session).json()["event_id"]

    events = [call(number) for number in range(PER_ADDRESS + 1)]
    with ThreadPoolExecutor() as readers:
        answers = [*readers.map(finish, events)]
    refused = [answer for answer in answers if "event: error" in answer]
    assert len(refused) == 1
    assert "4 API calls of your network address are already waiting" in refused[0]
    direct = httpx.post(f"{address}gradio_api/run/run", json=asked)
    assert direct.status_code == 404
