"""Fixtures of the browser tests: a server with made-up recorded runs, and an offline browser."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from app_server import wait_for
from chrome import running
from made import RUNS, made
from playwright.sync_api import Browser, expect, sync_playwright
from visit import Looker, Visit
from windows import DETAILS, PATIENCE, SIZE, Windows

expect.set_options(timeout=PATIENCE)
HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test in this folder as one that needs a browser."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the runs of the page; see serve.py."""
    return tmp_path_factory.mktemp("traces")


@pytest.fixture(scope="session")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the running page."""
    for name, recipe in RUNS.items():
        made(recipe).write(folder / f"{name}.jsonl")
    tiny.save(tiny.llama(), folder / "models" / "smollm2")  # instead of the real one
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path_factory.mktemp("log") / "server.log").open("w")
    command = [sys.executable, str(HERE / "serve.py"), str(folder), str(port)]
    with log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        address = f"http://127.0.0.1:{port}/"
        try:
            wait_for(address)
            yield address
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the worker's Chromium."""
    with running(tmp_path_factory.mktemp("profile")) as address:
        yield address


@pytest.fixture(scope="module")
def browser(chrome: str) -> Iterator[Browser]:
    """A connection to the worker's Chromium, for the tests of one file."""
    with sync_playwright() as playwright:
        connected = playwright.chromium.connect_over_cdp(chrome)
        yield connected
        connected.close()


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Iterator[Windows]:
    """Windows that the tests of a file use one after another."""
    found = Windows(browser)
    yield found
    found.close()


@pytest.fixture
def visit(windows: Windows, url: str) -> Iterator[Visit]:
    """A visitor who prefers reduced motion, so that nothing moves by itself."""
    with windows.visitor(url) as visitor:
        yield visitor
    assert not visitor.errors
    assert not visitor.foreign


@pytest.fixture
def looker(windows: Windows, url: str) -> Iterator[Looker]:
    """A visitor with reduced motion for read-only tests of recorded runs and their steps."""
    with windows.looker(url) as visitor:
        yield visitor
    assert not visitor.errors
    assert not visitor.foreign


@pytest.fixture
def another(browser: Browser, url: str) -> Iterator[Visit]:
    """A second visitor, with a separate browser profile, which has compiled nothing yet."""
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(DETAILS)
    visitor = Visit(context.new_page(), url)
    yield visitor
    context.close()
    assert not visitor.errors


@pytest.fixture
def lively(windows: Windows, url: str) -> Iterator[Visit]:
    """A visitor without reduced motion."""
    with windows.visitor(url, motion="no-preference") as visitor:
        yield visitor
    assert not visitor.errors
