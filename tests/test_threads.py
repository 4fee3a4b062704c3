"""How the threads that compute wait: told before torch comes, and never over a host's own word."""

import subprocess
import sys

import pytest

from specviz.settings.threads import SPINS, TOLD, wait_briefly


def test_they_wait_briefly_unless_told_otherwise():
    environment = {}
    wait_briefly(environment)
    assert environment == {"GOMP_SPINCOUNT": SPINS, "KMP_BLOCKTIME": "0"}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_host_has_said_stands(name):
    environment = {name: "a word of their own"}
    wait_briefly(environment)
    assert environment == {name: "a word of their own"}


@pytest.mark.parametrize("entry", ["specviz.commands.cli", "specviz.ui.page"])
def test_neither_entry_has_brought_torch_in_before_it_says_so(entry):
    code = f"import sys, {entry}; print('torch' in sys.modules)"
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
        monkeypatch.setattr(entry, "wait_briefly", told)
        with pytest.raises(Told):
            call()
