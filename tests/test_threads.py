"""Busy-waiting of computing threads: set before torch is imported, respecting the host."""

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


def test_busy_wait_is_shortened_unless_the_user_has_set_it():
    environment = {"PATH": "/bin"}
    shorten_busy_wait(environment)
    own = {"GOMP_SPINCOUNT": SPIN_COUNT, "KMP_BLOCKTIME": "0", OPENBLAS_TIMEOUT: "4"}
    assert environment == {"PATH": "/bin", **own}
    assert original_environment(environment) == {"PATH": "/bin"}, "for started programs"
    for name in USER_VARIABLES:
        environment = {name: "a word of their own"}
        shorten_busy_wait(environment)
        assert environment == {name: "a word of their own", OPENBLAS_TIMEOUT: "4"}
        assert original_environment(environment) == {name: "a word of their own"}


def test_command_line_and_page_both_set_busy_wait_first(monkeypatch):
    from specviz.commands import cli
    from specviz.ui import page

    class Called(Exception):
        pass

    def raise_called():
        raise Called

    for entry, call in ((cli, lambda: cli.main(["models"])), (page, lambda: page.launch(None))):
        monkeypatch.setattr(entry, "shorten_busy_wait", raise_called)
        with pytest.raises(Called):
            call()


@pytest.fixture
def four(monkeypatch):
    """Simulate a machine with four threads, and record the calls to torch."""
    asked = [4]
    monkeypatch.setattr(threads, "default_threads", lambda: 4)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: asked[-1])
    return asked


def test_one_thread_is_used_if_it_is_clearly_faster(four):
    for one, all_, taken in ((0.1, 1.0, 1), (0.9, 1.0, 4), (1.0, 0.5, 4), (0.79, 1.0, 1)):
        found = threads.choose_threads(lambda: one if four[-1] == 1 else all_)  # noqa: B023
        assert found == taken, (one, all_)
    slow = iter([9.0])  # a single slow measurement changes nothing
    assert threads.choose_threads(lambda: next(slow, 1.0)) == 4


def test_number_of_threads_is_not_measured_on_one_core(monkeypatch):
    monkeypatch.setattr(threads, "default_threads", lambda: 1)
    assert threads.choose_threads(lambda: pytest.fail("measured")) == torch.get_num_threads()


def test_numpy_uses_as_many_threads_as_torch(monkeypatch):
    """NumPy has no call for its number of threads, so its BLAS library is queried."""
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


def test_numpy_uses_the_chosen_number_of_threads(four, monkeypatch):
    given = []
    monkeypatch.setattr(threads, "share_with_numpy", lambda: given.append(four[-1]))
    times = iter([1.0, 0.1] * threads.TURNS)
    assert threads.choose_threads(lambda: next(times)) == 1
    assert given == [1]


@pytest.mark.parametrize(("bound", "large"), [(1, True), (1 << 40, False)])
def test_numpy_uses_all_threads_for_a_large_target(bound, large, monkeypatch):
    given = []
    monkeypatch.setattr(target_module, "share_with_numpy", given.append)
    monkeypatch.setattr(products, "CACHE_BYTES", bound)
    tiny.target().start(CaptureSpec())
    assert given == [large]
