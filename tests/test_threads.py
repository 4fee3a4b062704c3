"""How the threads that compute wait: told before torch comes, and never over a host's own word."""

import subprocess
import sys

import pytest
import tiny
import torch

from specviz.models import products, threads
from specviz.models import target as target_module
from specviz.models.passes import CaptureSpec
from specviz.settings.threads import (
    OPENBLAS_TIMEOUT,
    SPIN_COUNT,
    USER_VARIABLES,
    original_environment,
    shorten_busy_wait,
)


def test_they_shorten_busy_wait_unless_told_otherwise():
    environment = {}
    shorten_busy_wait(environment)
    assert environment == {
        "GOMP_SPINCOUNT": SPIN_COUNT,
        "KMP_BLOCKTIME": "0",
        OPENBLAS_TIMEOUT: "4",
    }


@pytest.mark.parametrize("name", USER_VARIABLES)
def test_what_a_host_has_said_stands(name):
    environment = {name: "a word of their own"}
    shorten_busy_wait(environment)
    assert environment == {name: "a word of their own", OPENBLAS_TIMEOUT: "4"}


def test_programs_of_others_wait_as_they_would_without_us():
    environment = {"PATH": "/bin"}
    shorten_busy_wait(environment)
    assert original_environment(environment) == {"PATH": "/bin"}
    told = {"GOMP_SPINCOUNT": "5", "PATH": "/bin"}
    shorten_busy_wait(environment := dict(told))
    assert original_environment(environment) == told


@pytest.mark.slow
def test_the_command_line_has_not_brought_torch_in_before_it_says_so():
    """Nor has the page: test_ui builds it whole without."""
    code = "import sys, specviz.commands.cli; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False"


def test_both_entries_say_so_first(monkeypatch):
    from specviz.commands import cli
    from specviz.ui import page

    class Told(Exception):
        pass

    def told():
        raise Told

    for entry, call in ((cli, lambda: cli.main(["models"])), (page, lambda: page.launch(None))):
        monkeypatch.setattr(entry, "shorten_busy_wait", told)
        with pytest.raises(Told):
            call()


@pytest.fixture
def four(monkeypatch):
    """A machine with four threads, and what was asked of torch, which keeps its one."""
    asked = [4]
    monkeypatch.setattr(threads, "default_threads", lambda: 4)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: asked[-1])
    return asked


@pytest.mark.parametrize(
    ("one", "all_", "taken"), [(0.1, 1.0, 1), (0.9, 1.0, 4), (1.0, 0.5, 4), (0.79, 1.0, 1)]
)
def test_one_thread_is_taken_where_it_is_clearly_quicker_just_now(four, one, all_, taken):
    assert threads.choose_threads(lambda: one if four[-1] == 1 else all_) == taken


def test_a_single_slow_measurement_decides_nothing(four):
    slow = iter([9.0])
    assert threads.choose_threads(lambda: next(slow, 1.0)) == 4


def test_where_there_is_one_thread_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(threads, "default_threads", lambda: 1)
    assert threads.choose_threads(lambda: pytest.fail("measured")) == torch.get_num_threads()


def test_what_is_measured_takes_a_moment():
    assert 0.0 < threads._seconds() < 1.0


def test_numpy_multiplies_with_as_many_threads_as_torch(monkeypatch):
    """NumPy has no call that says how many it uses, so the library that it loads is asked."""
    before = [each["num_threads"] for each in threads._blas().info()]
    assert before, "NumPy's BLAS was not found"
    monkeypatch.setenv(OPENBLAS_TIMEOUT, "4")
    try:
        for many in (2, 1, 2):
            monkeypatch.setattr(torch, "get_num_threads", lambda many=many: many)
            threads.share_with_numpy()
            assert {each["num_threads"] for each in threads._blas().info()} == {many}
        threads.share_with_numpy(large=False)
        assert {each["num_threads"] for each in threads._blas().info()} == {1}
        threads.share_with_numpy()
        monkeypatch.delenv(OPENBLAS_TIMEOUT)  # its threads would wait actively
        threads.share_with_numpy()
        assert {each["num_threads"] for each in threads._blas().info()} == {1}
    finally:
        threads._blas().limit(limits=before[0])


def test_numpy_follows_what_is_settled(four, monkeypatch):
    given = []
    monkeypatch.setattr(threads, "share_with_numpy", lambda: given.append(four[-1]))
    times = iter([1.0, 0.1] * threads.TURNS)
    assert threads.choose_threads(lambda: next(times)) == 1
    assert given == [1]


@pytest.mark.parametrize(("bound", "large"), [(1, True), (1 << 40, False)])
def test_a_run_of_a_large_target_gives_numpy_all_threads(bound, large, monkeypatch):
    given = []
    monkeypatch.setattr(target_module, "share_with_numpy", given.append)
    monkeypatch.setattr(products, "CACHE", bound)
    tiny.target().start(CaptureSpec())
    assert given == [large]
