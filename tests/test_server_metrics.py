"""`serve --metrics-from`: one address of a server's metrics, which visitors may read."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from test_server_texts import INFO, vllm

from specviz.commands import serve
from specviz.commands.cli import main
from specviz.cost.server import loading
from specviz.cost.server.loading import METRICS_BYTES, MetricsAddress
from specviz.cost.server.stats import UnreadableStats
from specviz.ui.cost.server import START, fetched


@pytest.fixture
def host(monkeypatch):
    """A local server: what it answers by path, and the paths that were requested."""
    answers, asked = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            status, body, headers = answers[self.path]
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    monkeypatch.setattr(loading, "METRICS_KEPT", 0.0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answers, asked
    server.shutdown()
    server.server_close()


def test_metrics_of_the_host_fill_the_box(host):
    url, answers, asked = host
    answers["/metrics"] = (200, f"# HELP x\n{vllm()}\n".encode(), {})
    found = fetched(MetricsAddress(f"{url}/metrics"), START)
    assert "vllm:spec_decode_num_drafts_total" in found["now"]
    assert "# HELP" not in found["now"]
    assert asked == ["/metrics"], "no other address"


def test_settings_such_as_keys_are_not_sent_to_visitors(host):
    url, answers, _ = host
    answers["/server_info"] = (200, json.dumps(INFO).encode(), {})
    text = MetricsAddress(f"{url}/server_info").text()
    assert json.loads(text)["speculative_num_steps"] == INFO["speculative_num_steps"]
    assert "secret" in json.dumps(INFO)
    assert "secret" not in text


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (302, b"", "(302)"),
        (500, b"broken", "broken"),
        (200, vllm().encode() + b"\n" + b"#" * METRICS_BYTES, "more than 1 MiB"),
        (200, b"my diary", "other text"),
    ],
    ids=["redirect", "error", "too large", "no statistics"],
)
def test_other_answers_are_refused_without_the_address(host, caplog, status, body, reason):
    url, answers, asked = host
    answers["/metrics"] = (status, body, {"Location": f"{url}/elsewhere"})
    answers["/elsewhere"] = (200, vllm().encode(), {})
    with pytest.raises(UnreadableStats) as refusal:
        MetricsAddress(f"{url}/metrics").text()
    assert asked == ["/metrics"], "a redirect was followed"
    assert url not in str(refusal.value)
    assert reason in caplog.text, "the host's log has the reason"


def test_visitors_share_one_reading(host, monkeypatch):
    monkeypatch.setattr(loading, "METRICS_KEPT", 60.0)
    url, answers, asked = host
    answers["/metrics"] = (200, vllm().encode(), {})
    address = MetricsAddress(f"{url}/metrics")
    assert address.text() == address.text()
    answers["/none"] = (404, b"", {})
    nothing = MetricsAddress(f"{url}/none")
    for _ in range(2):
        with pytest.raises(UnreadableStats):
            nothing.text()
    assert asked == ["/metrics", "/none"]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://a:b@host/metrics", "metrics"])
def test_option_takes_only_web_addresses(url, capsys):
    with pytest.raises(ValueError, match="is not a server's address"):
        serve.metrics_address(url)
    assert serve.metrics_address("https://host/metrics") == "https://host/metrics"
    with pytest.raises(SystemExit):
        main(["serve", "--metrics-from", url])
    assert "is not a server's address" in capsys.readouterr().err
