"""A target on a server: the same results as the local weights, and an error for each fault."""

from __future__ import annotations

import copy
import json
import socket
from functools import cache
from math import log
from types import SimpleNamespace

import counted
import pytest
from served.replay import HOUSE, SCENARIOS, TEXT, recorded, serving, settings

from specviz import engine
from specviz.catalog import entry, load, load_drafter, load_target
from specviz.commands.cli import main
from specviz.models.errors import ServerFault
from specviz.models.passes import CaptureSpec
from specviz.models.served import http_client
from specviz.models.served.http_client import Address
from specviz.models.served.server import Server, to_logits
from specviz.settings.settings import BadSettings, Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids
from specviz.ui.request import RunRequest
from specviz.ui.step import drawer
from specviz.verification.tree import DraftTree

COMPLETIONS = "/v1/completions"


def traced(target, name, device="cpu"):
    header, *events = engine.run(*load(target, SCENARIOS[name][0], device), TEXT, settings(name))
    return Trace(header, events)


@cache
def here(name):
    return traced("house", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_served_run_equals_local_run(name):
    with serving() as server:
        trace = traced(server, name)
    check(trace)
    assert token_ids(trace) == token_ids(here(name))
    assert any(judged.accepted for played in trace.rounds for judged in played.judged)
    for one, other in zip(trace.rounds, here(name).rounds, strict=True):
        assert [d.accepted for d in one.judged] == [d.accepted for d in other.judged]
        ours = [d.rows.overlap for d in other.judged]
        assert [d.rows.overlap for d in one.judged] == pytest.approx(ours, abs=1e-4)
        soft = other.scored.soft and pytest.approx(other.scored.soft, abs=1e-4)
        assert one.scored.soft == soft
    assert trace.header.machine == "vLLM 0.32.0"
    assert trace.header.versions["vllm"] == "0.32.0"
    assert baseline_difference(trace) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["guessed", "sampled"])
def test_small_model_on_a_gpu_drafts_for_a_served_target(name):
    with counted.gpu(), serving() as server:
        trace = traced(server, name, "cuda")
    assert trace.header.device == "cuda:0"
    assert token_ids(trace) == token_ids(here(name))


@pytest.mark.slow
def test_all_paths_of_a_tree_are_sent_in_one_request():
    sent = []
    with serving(lambda path, body: sent.append(body) if path == COMPLETIONS else None) as server:
        trace = traced(server, "sampled")
    tried = 2  # the token limit, and one distribution in two ways
    assert len(sent) == tried + len(trace.rounds) + len(trace.baseline.token_ids)
    assert max(len(body["prompt"]) for body in sent) == 4  # two siblings, twice
    plain = [body for body in sent[tried:] if len(body["prompt"]) == 1]
    assert not any("prompt_logprobs" in body for body in plain)  # so it can use its cache


def test_unlikely_sibling_gets_the_probability_reported_for_its_own_path(monkeypatch):
    told = [[{7: -0.1, 900: -9.0}, {1: -0.5}], [{7: -0.1, 2904: -5.0}, {2: -0.5}]]
    with serving() as server:
        run = load_target(server, "cpu").start(CaptureSpec())
    monkeypatch.setattr(Server, "logprobs", lambda *_: told)
    logits = run.score(DraftTree((5, 900, 2904), (-1, 0, 0))).logits
    assert logits[0, [7, 900, 2904]].tolist() == [-0.1, -9.0, -5.0]
    assert (logits[1, 1], logits[2, 2]) == (-0.5, -0.5)
    (row,) = to_logits([{3: log(0.5), 1: log(0.3)}], 6)  # other tokens share the remainder
    assert row.softmax(0)[[3, 1]].tolist() == pytest.approx([0.5, 0.3])
    assert row.softmax(0)[[0, 2, 4, 5]].sum().item() == pytest.approx(0.2)


# A faulty response of a server, and a part of the error message.


def listed(rows):
    """Respond as a server that lists only `rows` log-probabilities."""
    told = f"Requested logprobs of 65, max allowed: {rows}"
    return at(COMPLETIONS, 400, {"error": {"message": told}})


def at(where, status, answer):
    return lambda path, _body: (status, answer) if path == where else None


def answered(change):
    """Change the response to the request that verifies one distribution in two ways."""

    def changed(path, body):
        if path != COMPLETIONS or body["prompt"] != [[0, 0], [0]]:
            return None
        (found,) = (
            answer
            for asked, (_, answer) in recorded().items()
            if asked.startswith(f"POST {path} ") and f'"prompt": {body["prompt"]},' in asked
        )
        answer = copy.deepcopy(found)
        change(answer["choices"])
        return 200, answer

    return changed


def cold(choices):
    """Apply a temperature to the next token only."""
    row = choices[1]["logprobs"]["top_logprobs"][0]
    choices[1]["logprobs"]["top_logprobs"] = [{token: value - 1 for token, value in row.items()}]


def scores(choices):
    """Return logits instead of log-probabilities."""
    for told in choices[0]["prompt_logprobs"][1].values():
        told["logprob"] += 9


FAULTS = {
    "moved": (at("/v1/models", 302, {}), "refused a request (302)"),
    "locked": (at("/v1/models", 401, {"error": "Unauthorized"}), "(401): Unauthorized"),
    "no list": (at("/v1/models", 200, [1]), "lists no model"),
    "adapters": (at("/v1/models", 200, {"data": [{"id": "a", "parent": "b"}]}), "lists no model"),
    "no length": (at("/v1/models", 200, {"data": [{"id": "a"}]}), "vLLM 0.32 does"),
    "another program": (at("/version", 404, {"detail": "Not Found"}), "not vLLM"),
    "no version": (at("/version", 200, {"ollama": 1}), "not vLLM"),
    "few": (listed(5), "--max-logprobs 9"),
    "none": (listed(0), "--max-logprobs 9"),
    "too old": (answered(lambda told: told[0].pop("prompt_logprobs")), "prompt_logprobs"),
    "words for ids": (
        answered(lambda told: told[1]["logprobs"].update(top_logprobs=[{" the": -0.5}])),
        "return_tokens_as_token_ids",
    ),
    "no numbers": (
        answered(lambda told: told[0]["prompt_logprobs"].__setitem__(1, {"7": {"logprob": "x"}})),
        "not numbers",
    ),
    "scores": (answered(scores), "--logprobs-mode"),
    "cold": (answered(cold), "--logprobs-mode raw_logprobs"),
    "other words": (at("/tokenize", 200, {"tokens": [1, 2]}), "into different tokens"),
    "too few answers": (at(COMPLETIONS, 200, {"choices": []}), "answers 0 of 2 texts"),
}


@pytest.mark.parametrize(("change", "sentence"), FAULTS.values(), ids=FAULTS)
def test_each_fault_of_a_server_raises_readable_error(change, sentence):
    with serving(change) as server, pytest.raises(ValueError, match="server") as refusal:
        load_target(server, "cpu")
    assert sentence in str(refusal.value)


def test_unreachable_or_slow_server_raises_readable_error(capsys, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # a port without a listener
        name = f"vllm:http://127.0.0.1:{taken.getsockname()[1]}"
        assert main(["run", "--prompt", "a", "--target", name, "--drafter", "ngram"]) == 2
    assert "cannot be reached" in capsys.readouterr().err
    with serving() as server, pytest.raises(ValueError, match="#FOLDER"):  # of its tokenizer
        load_target(server.replace(str(HOUSE), "/nowhere"), "cpu")
    slow = http_client.HttpClient(Address.read("vllm:http://localhost:8000"))
    with pytest.raises(TimeoutError):
        slow._read_body(SimpleNamespace(read1=lambda _size: b" "), until=0.0)
    monkeypatch.setattr(http_client.HttpClient.__init__, "__defaults__", (0.05, 0.05))
    with serving(delay=0.3) as server, pytest.raises(ServerFault, match=r"within 0\.05 seconds"):
        load_target(server, "cpu")


def test_distribution_whose_last_listed_token_may_be_tied_is_refused():
    with serving() as server:
        target = load_target(server, "cpu")
        law = target.server.logprobs([[0, 0], [0]], [1, 1])[1][0]
        run = target.start(load_drafter("ngram", target).capture, Sampling(1.0, top_k=12))
        run._check_complete(law)
        with pytest.raises(ServerFault, match="smaller top-k"):
            run._check_complete(dict.fromkeys(law, -5.0))


@pytest.mark.parametrize(
    ("drafter", "sentence"),
    [("eagle", "made for another target"), ("layerskip", "on a server"), ("oracle", "on a server"),
     ("lookahead", "rows of its own")],
)  # fmt: skip
def test_served_target_refuses_drafters_that_need_its_weights_or_rows(drafter, sentence):
    with serving() as server, pytest.raises(ValueError, match=sentence):
        list(engine.run(*load(server, drafter, "cpu"), TEXT, settings("copied")))


def test_served_target_refuses_top_k_beyond_what_the_server_lists():
    for sampling in (Sampling(), Sampling(0.8, top_k=20), Sampling(1.0, top_p=0.5)):
        with serving() as server:
            run = engine.run(*load(server, "ngram", "cpu"), TEXT, Settings(sampling))
            with pytest.raises(BadSettings, match="top-k from 1 to 19"):
                next(run)


ADDRESSES = {
    "http://a": "http://a:80",
    "https://a/v1/": "https://a:443",
    "http://[::1]:8000/m/v1#/x y": "http://[::1]:8000/m",
    **dict.fromkeys(
        ("", "localhost:8000", "ftp://a", "http://", "http://a:b@c", "http://a:99999",
         "http://a?b=c", "file:///etc/passwd", "http://[::1", "http://a\n")
    ),
}  # fmt: skip


def test_server_address_is_parsed_and_an_invalid_one_refused():
    for name, said in ADDRESSES.items():
        if said is None:
            with pytest.raises(ServerFault, match="address"):
                Address.read("vllm:" + name)
        else:
            assert str(Address.read("vllm:" + name)) == said


@pytest.fixture
def of_the_host(monkeypatch):
    """Return a function that sets the server of the host."""

    def choose(server):
        monkeypatch.setenv(entry.SERVER, server)
        entry.entries.cache_clear()

    yield choose
    entry.entries.cache_clear()


def test_server_of_the_host_is_a_target_for_all_users(of_the_host, capsys):
    with serving() as server:
        of_the_host(server)
        assert RunRequest.from_json({"prompt": "a", "target": "server"}).target == "server"
        assert "server" in [each.name for each in drawer.targets()]
        assert token_ids(traced("server", "copied")) == token_ids(here("copied"))
        assert main(["models"]) == 0
        assert "\nserver " in capsys.readouterr().out


def test_users_learn_neither_key_nor_address_of_the_server_of_the_host(of_the_host, monkeypatch):
    monkeypatch.setenv(http_client.KEY, "secret")
    named = http_client.HttpClient(Address.read("vllm:http://a", "the host's address"))
    assert named.headers()["Authorization"] == "Bearer secret"
    assert "Authorization" not in http_client.HttpClient(Address.read("vllm:http://a")).headers()
    of_the_host("vllm:http://127.0.0.1:9")
    with pytest.raises(ServerFault) as refusal:
        load_target("server", "cpu")
    assert "127.0.0.1" not in str(refusal.value)
    wish = {"prompt": "a", "target": "vllm:http://169.254.169.254"}
    with pytest.raises(BadSettings, match="No target is called"):  # nor choose a server
        RunRequest.from_json(wish)
    assert RunRequest.from_json(wish, any_model=True).target == wish["target"]


def failing(after):
    """Simulate a server that fails after the first few passes."""
    asked = iter(range(10**6))

    def change(path, _body):
        late = path == COMPLETIONS and next(asked) >= 2 + after  # two requests come before the run
        return (500, {"detail": "The engine died."}) if late else None

    return change


WHOLE = 5  # passes of the scenario "copied"


@pytest.mark.parametrize("after", [0, 1, WHOLE])
def test_rounds_before_a_server_failure_are_written_to_the_trace(after, tmp_path, capsys):
    place, told = tmp_path / "run.jsonl", tmp_path / "run.json"
    options = ["--drafter", "ngram", "--temperature", "0", "--seed", "5", "--gamma", "4"]
    options += ["--ngram-min", "1", "--max-new-tokens", "14"]
    with serving(failing(after)) as server:
        files = ["--trace", str(place), "--json", str(told)]
        assert main(["run", "--prompt", TEXT, "--target", server, *options, *files]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("specviz: The server at http://127.0.0.1:")
    assert printed.err.endswith("refused a request (500): The engine died.\n")
    trace = Trace.read(place)
    assert trace.baseline is None
    made = token_ids(trace)
    assert made == token_ids(here("copied"))[: len(made)]
    assert json.loads(told.read_text())["token_ids"] == made
    assert printed.out.startswith(trace.header.model_text)
    assert main(["check", str(place)]) == 0
    ended = len(made) == 14
    assert ended == (after == WHOLE)
    assert trace.finished.reason == ("limit" if ended else "stopped")
    if not ended:
        assert len(trace.rounds) == after
