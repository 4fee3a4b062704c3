"""Tiny models that every test may share, in memory and as folders. See tiny.py."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import once
import pytest
import tiny
import torch
from app_server import Server

from specviz.drafters.draft_model import DraftModel
from specviz.models import fast_linear
from specviz.models.target import Target

# A busy machine is no counter-example; where CI judges, the same examples every time.
hypothesis.settings.register_profile("usual", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("usual")
torch.set_num_threads(1)  # a tiny pass gains nothing from a second, and on a busy machine waits


# These start a program that serves the page, seconds of imports each.
SERVED = {"test_api.py", "test_bad_input.py", "test_zero.py"}
LONG = {"test_style.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests so that two workers share them well."""
    items[:] = whole(items)


def pytest_collection_finish() -> None:
    """Never look again through all that was imported: a quarter of a second, time after time.

    And seldom through what tests make: a twentieth of their time went into that.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def whole(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests with LONG first, and SERVED in the middle, where the second of two workers begins.

    Workers steal from the ends of each other's queues: a file that stood there would be split, and
    its server started by both; a long test would be waited for.
    """
    first = [item for item in items if item.path.name in LONG]
    served = [item for item in items if item.path.name in SERVED]
    others = [item for item in items if item.path.name not in SERVED | LONG]
    middle = len(items) // 2 - len(first)
    return [*first, *others[:middle], *served, *others[middle:]]


@pytest.fixture(scope="session", autouse=True)
def same_products_everywhere() -> Iterator[None]:
    """Stop the clock that products are chosen by: NumPy for one row, oneDNN for more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_linear, "perf_counter", lambda: 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """See once.py."""
    once.share(tmp_path_factory)


@pytest.fixture(scope="session")
def tiny_target() -> Target:
    """A two-layer Llama with 280 tokens."""
    return tiny.target()


@pytest.fixture(scope="session")
def tiny_draft() -> DraftModel:
    """A draft model that the tiny target often agrees with."""
    return tiny.draft()


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The tiny target and its draft model as folders in transformers' layout."""
    root = tmp_path_factory.mktemp("pair")
    model = tiny.llama()
    return tiny.save(model, root / "big"), tiny.save(tiny.blurred(model), root / "small")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The page and the API as `app.py` serves them. Nothing that is sent leaves a traceback."""
    running = Server(tmp_path_factory.mktemp("log"))
    yield running
    assert running.end(signal.SIGINT) == 130
    assert "Traceback" not in running.said.read_text()


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """A file whose tests choose another number of threads leaves one to the next file."""
    yield
    torch.set_num_threads(1)
