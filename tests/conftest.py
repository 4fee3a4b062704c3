"""Tiny models that all tests share, in memory and as folders. See tiny.py."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import declarations  # noqa: F401  # before specviz, whose types it makes readable for pydantic
import hypothesis
import once
import pytest
import tiny
import torch
from app_server import Server

from specviz.drafters.draft_model import DraftModel
from specviz.models import fast_layers
from specviz.models.target import Target

# How many examples hypothesis tries in each tier of run.py. A busy machine must not fail a test by
# its deadline; CI tries the same examples every time.
for tier, examples in {"quick": 25, "default": 100, "all": 500}.items():
    hypothesis.settings.register_profile(
        tier, max_examples=examples, deadline=None, derandomize="CI" in os.environ
    )
hypothesis.settings.load_profile(os.environ.get("SPECVIZ_TIER", "default"))
# Tiny passes gain nothing from a second thread, and would wait for it on a busy machine.
torch.set_num_threads(1)


# Each of these starts a server, which spends seconds on imports.
SERVED = {"test_api.py", "test_bad_input.py", "test_zero.py"}
LONG = {"test_style.py"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for runs that test the versions of libraries rather than our code."""
    parser.addoption("--cases", type=int, help="run this many cases of each test at most")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests so that two workers finish at about the same time."""
    if most := config.getoption("cases"):
        kept, others = first_cases(items, most)
        config.hook.pytest_deselected(items=others)
        items[:] = kept
    items[:] = whole(items)


def first_cases(items: list[pytest.Item], most: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split the tests into the first `most` cases of each test, and the others."""
    seen: Counter[str] = Counter()
    parts: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
    for item in items:
        test = item.nodeid.partition("[")[0]
        parts[seen[test] >= most].append(item)
        seen[test] += 1
    return parts


def pytest_collection_finish() -> None:
    """Exclude imported objects from garbage collection, which took a quarter of a second each time.

    Collect objects of the tests rarely: that took a twentieth of their time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def whole(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests with LONG first and SERVED in the middle, where the second worker begins.

    Workers steal from the ends of each other's queues. A file at an end would be split, so that
    both workers start its server; a long test at an end would keep the other worker waiting.
    """
    first = [item for item in items if item.path.name in LONG]
    served = [item for item in items if item.path.name in SERVED]
    others = [item for item in items if item.path.name not in SERVED | LONG]
    middle = len(items) // 2 - len(first)
    return [*first, *others[:middle], *served, *others[middle:]]


@pytest.fixture(scope="session", autouse=True)
def same_products_everywhere() -> Iterator[None]:
    """Fix the choice of matrix products without timing: NumPy for one row, oneDNN for more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_layers, "perf_counter", lambda: 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Share slow results between workers; see once.py."""
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
    """Serve the page and the API as `app.py` does; assert that no request leaves a traceback."""
    running = Server(tmp_path_factory.mktemp("log"))
    yield running
    assert running.end(signal.SIGINT) == 130
    assert "Traceback" not in running.said.read_text()


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Restore one thread after a file whose tests change the number of threads."""
    yield
    torch.set_num_threads(1)
