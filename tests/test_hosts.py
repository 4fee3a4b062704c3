"""Which hosts and origins the server answers to: the options, the environment, the refusals."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from specviz.commands.cli import build_parser, main
from specviz.commands.serve import page_options
from specviz.ui.access import Access, host_name, site
from specviz.ui.guard import Guard

LAPTOP = Access.of(environment={})
NETWORK = Access.of("0.0.0.0", ["specviz.example.edu", "*.lab.example.edu"], environment={})
SPACE = Access.of(
    environment={
        "GRADIO_SERVER_NAME": "0.0.0.0",
        "SPACE_ID": "owner/specviz",
        "SPACE_HOST": "owner-specviz.hf.space,specviz.example.org",
    }
)
CONTAINER = Access.of(
    environment={"GRADIO_SERVER_NAME": "0.0.0.0", "SPECVIZ_ALLOWED_HOSTS": "app.example.edu, box"}
)


async def answer(request):
    return PlainTextResponse("open")


async def accept(socket):
    await socket.accept()
    await socket.close()


def client(access):
    routes = [
        WebSocketRoute("/socket", accept),
        Route("/{path:path}", answer, methods=["GET", "POST", "OPTIONS"]),
    ]
    return TestClient(Guard(Starlette(routes=routes), access), "http://localhost")


HOSTS = [  # the server, hosts that it answers to, and hosts that it refuses
    (
        LAPTOP,
        ["localhost:7860", "LOCALHOST.", "127.0.0.1:7860", "127.8.9.1", "[::1]:7860",
         "[::ffff:127.0.0.1]"],
        ["evil.example", "localhost.evil.example:7860", "127.0.0.1.evil.example",
         "evil.example:80@localhost", "localhost, evil.example", "owner-specviz.hf.space",
         "192.168.1.7", "[::1", "x" * 5000],
    ),
    (
        NETWORK,
        ["192.168.1.7:7860", "[2001:db8::1]:7860", "localhost", "specviz.example.edu",
         "Specviz.Example.EDU:443", "a.lab.example.edu"],
        ["lab.example.edu", "alab.example.edu", "www.specviz.example.edu", "evil.example"],
    ),
    (Access.of("::", environment={}), ["[2001:db8::1]"], []),
    (Access.of("[::]", environment={}), ["10.0.0.1"], []),
    (Access.of("192.168.1.7", environment={}), ["192.168.1.7:7860"], ["192.168.1.8:7860"]),
    (Access.of("Box.lan", environment={}), ["box.lan:7860"], []),
    (
        CONTAINER,
        ["127.0.0.1:7860", "172.17.0.2:7860", "app.example.edu", "box:7860"],
        ["evil.example"],
    ),
    (
        SPACE,
        ["owner-specviz.hf.space", "owner--specviz--0a1b2.hf.space", "specviz.example.org",
         "10.1.2.3:7860"],
        ["hf.space", "evilhf.space"],
    ),
]  # fmt: skip


def test_only_requests_to_known_hosts_are_answered():
    for access, known, others in HOSTS:
        for host in known:
            assert client(access).get("/config", headers={"Host": host}).status_code == 200, host
        for host in others:
            answered = client(access).get("/config", headers={"Host": host})
            assert answered.status_code == 421, host
            assert "--allowed-host NAME" in answered.text
            assert "SPECVIZ_ALLOWED_HOSTS" in answered.text
            assert answered.text.count("\n") == 0
            assert len(answered.text) < 300
    headers = [("Host", "localhost"), ("Host", "evil.example")]
    assert client(LAPTOP).get("/", headers=headers).status_code == 421, "every header counts"


ORIGINS = [  # the server and its host, origins whose pages may call it, and others
    (
        LAPTOP, "localhost:7860",
        ["http://localhost:7860", "http://127.0.0.1:5173"],
        ["http://evil.example", "http://localhost.evil.example", "https://localhost@evil.example",
         "null", "file://localhost"],
    ),
    (LAPTOP, "127.0.0.1:7860", ["http://[::1]:7860"], []),
    (
        NETWORK, "192.168.1.7:7860",
        ["http://192.168.1.7:7860", "https://specviz.example.edu"],
        ["http://203.0.113.9", "http://localhost:7860"],
    ),
    (NETWORK, "specviz.example.edu", ["https://specviz.example.edu"], ["https://evil.example"]),
    (
        SPACE, "owner-specviz.hf.space",
        ["https://owner-specviz.hf.space", "https://specviz.example.org"],
        ["https://another-space.hf.space"],
    ),
    (SPACE, "10.1.2.3:7860", ["https://owner-specviz.hf.space"], []),
]  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_only_pages_of_known_origins_may_send_requests(method):
    for access, host, known, others in ORIGINS:
        for origin in [*known, *others]:
            headers = {"Host": host, "Origin": origin, "Access-Control-Request-Method": "POST"}
            answered = client(access).request(method, "/config", headers=headers)
            assert answered.status_code == (200 if origin in known else 403), (host, origin)
            assert "access-control-allow-origin" not in answered.headers
            assert origin in known or "--allowed-host NAME" in answered.text
    assert client(LAPTOP).request(method, "/gradio_api/queue/join").status_code == 200, "no origin"


FORWARDED = [
    ("course.example.edu", "https://course.example.edu", 200),
    ("course.example.edu, inner", "https://course.example.edu", 200),
    ("inner, course.example.edu", "https://course.example.edu", 403),
    ("course.example.edu", "https://evil.example", 403),
]


def test_host_forwarded_by_a_proxy_is_accepted_as_own_host():
    for forwarded, origin, status in FORWARDED:
        headers = {"Host": "127.0.0.1:7860", "X-Forwarded-Host": forwarded, "Origin": origin}
        assert client(LAPTOP).post("/", headers=headers).status_code == status, forwarded
        rebound = headers | {"Host": "evil.example"}
        assert client(LAPTOP).post("/", headers=rebound).status_code == 421


def test_root_path_with_a_full_url_adds_its_host_to_the_known_hosts():
    access = Access.of(environment={"GRADIO_ROOT_PATH": "https://Course.example.edu/specviz"})
    assert access.hosts == access.callers == ("course.example.edu",)
    assert Access.of(environment={"GRADIO_ROOT_PATH": "/specviz"}).hosts == ()


def test_websocket_from_an_unknown_host_or_origin_is_refused():
    with client(LAPTOP).websocket_connect("/socket", headers={"Host": "localhost"}):
        pass
    for headers in ({"Host": "evil.example"}, {"Host": "localhost", "Origin": "http://a.example"}):
        with (
            pytest.raises(WebSocketDisconnect) as closed,
            client(LAPTOP).websocket_connect("/socket", headers=headers),
        ):
            pass
        assert closed.value.code == 1008


FRAMES = [
    (LAPTOP, "'self'"),
    (SPACE, "'self' https://huggingface.co https://*.hf.space"),
    (Access.of(embed_in=["https://a.edu"], environment={}), "'self' https://a.edu"),
    (Access.of(environment={"SPECVIZ_EMBED_IN": "https://a.edu/, *"}), "'self' https://a.edu *"),
]


def test_only_known_sites_may_embed_the_page():
    for access, frames in FRAMES:
        policy = client(access).get("/").headers["content-security-policy"]
        assert policy.endswith(f"; frame-ancestors {frames}")


# The options.


def test_command_line_options_set_allowed_hosts_and_embedding_sites():
    words = ["serve", "--allowed-host", "A.example.edu", "--allowed-host", "*.b.edu"]
    args = build_parser("serve").parse_args([*words, "--embed-in", "https://Course.example.edu/"])
    options = page_options(args)
    assert options.allowed_host == ("a.example.edu", "*.b.edu")
    assert options.embed_in == ("https://course.example.edu",)
    assert page_options(build_parser("serve").parse_args(["serve"])).allowed_host == ()


def test_invalid_host_name_is_refused(capsys):
    for text in ("http://a.edu", "a.edu:80", "a.edu/x", "*", "", "a b", "-", "é"):
        with pytest.raises(ValueError, match=r"An allowed host must be a name such as .*\.$"):
            host_name(text)
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--allowed-host", text])
        assert ended.value.code == 2
        assert "without a port, not" in capsys.readouterr().err


def test_invalid_site_is_refused():
    for text in ("a.edu", "https://", "https://a.edu/x", "https://a; x", "'none'"):
        with pytest.raises(ValueError, match=r"A site must be an address such as .*\.$"):
            site(text)
        with pytest.raises(ValueError, match="A site must be"):
            Access.of(environment={"SPECVIZ_EMBED_IN": text})
