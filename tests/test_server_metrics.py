"""`serve --metrics-from`: one address of a server's metrics, which visitors may read."""

import json

import pytest
from test_server_cli import serving
from test_server_texts import INFO, vllm

from specviz.commands import serve
from specviz.commands.cli import main
from specviz.cost.server import loading
from specviz.cost.server.loading import METRICS_BYTES, MetricsAddress
from specviz.cost.server.stats import UnreadableStats
from specviz.ui.cost.server import START, fetched


def test_metrics_of_the_host_fill_the_box():
    with serving(metrics=f"# HELP x\n{vllm()}\n") as (url, asked):
        found = fetched(MetricsAddress(f"{url}/metrics"), START)
    assert "vllm:spec_decode_num_drafts_total" in found["now"]
    assert "# HELP" not in found["now"]
    assert asked == ["/metrics"], "no other address"


def test_settings_such_as_keys_are_not_sent_to_visitors():
    with serving(server_info=json.dumps(INFO)) as (url, _):
        text = MetricsAddress(f"{url}/server_info").text()
    assert json.loads(text)["speculative_num_steps"] == INFO["speculative_num_steps"]
    assert "secret" in json.dumps(INFO)
    assert "secret" not in text


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (302, "", "(302)"),
        (500, "broken", "broken"),
        (200, vllm() + "\n" + "#" * METRICS_BYTES, "more than 1 MiB"),
        (200, "my diary", "other text"),
    ],
    ids=["redirect", "error", "too large", "no statistics"],
)
def test_other_answers_are_refused_without_the_address(caplog, status, body, reason):
    with (
        serving(metrics=(status, body), elsewhere=vllm()) as (url, asked),
        pytest.raises(UnreadableStats) as refusal,
    ):
        MetricsAddress(f"{url}/metrics").text()
    assert asked == ["/metrics"], "a redirect was followed"
    assert url not in str(refusal.value)
    assert reason in caplog.text, "the host's log has the reason"


def test_visitors_share_one_reading(monkeypatch):
    monkeypatch.setattr(loading, "METRICS_KEPT", 60.0)
    with serving(metrics=vllm()) as (url, asked):
        address, nothing = MetricsAddress(f"{url}/metrics"), MetricsAddress(f"{url}/none")
        assert address.text() == address.text()
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
