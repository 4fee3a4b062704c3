"""Errors name missing or damaged shipped files, and the page opens without their sections."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from specviz.catalog import entry, public
from specviz.commands.cli import main
from specviz.compare import domains
from specviz.compare import storage as races
from specviz.cost import measured_costs, sources
from specviz.cost.server import loading
from specviz.shipped import ASSETS, EXAMPLE, BrokenFile, prompts, recipes
from specviz.trees import ranking, recorded_position, rounding
from specviz.ui import server
from specviz.ui.compare.race import form as race_form
from specviz.ui.cost import shapes
from specviz.ui.lossless import proof
from specviz.ui.page import Options, build, launch_arguments
from specviz.ui.request import RunRequest
from specviz.ui.step import recorded as step_runs
from specviz.ui.task import Machine
from specviz.ui.trees import grow, grown
from specviz.ui.worker import Worker

READERS = {
    "catalog.json": entry.entries,
    "public.json": public.public_checkpoints,
    "prompts.json": prompts,
    "traces/recipes.json": recipes,
    "races/recipes.json": races.recipes,
    "trees/recipes.json": recorded_position.recipes,
    "trees/ranking.json": rounding.load_study,
    "trees/ranks.json": ranking.shipped_tables,
    "models/measured.json": domains.recorded,
    "models/peers.json": loading.example,
    "models/target/config.json": sources.models,
    "cost/hardware.json": sources.machines,
    "cost/shapes.json": sources.models,
    "cost/headline.json": sources.published_numbers,
    "cost/spec_bench.json": sources.boards,
    "cost/acceptance.json": sources.acceptances,
}
MAY_BE_AWAY = {
    "traces/recipes.json", "races/recipes.json", "trees/ranking.json", "trees/ranks.json",
    "models/measured.json",
}  # fmt: skip
WRONG = {"half": "is not whole JSON", "other": "does not say what it should", "away": "is missing"}
LATER = (
    step_runs.body,
    proof.verdicts,
    recorded_position.shipped_position,
    grown.measured_sweep,
    grown.GrownView.of,
    measured_costs.load_shipped,
)
CACHES = [each for each in (*READERS.values(), *LATER) if hasattr(each, "cache_clear")]


@pytest.fixture
def broken(monkeypatch):
    """Return a function that damages a file of the assets in a way of WRONG; None repairs it."""
    whole, files = Path.read_text, {}

    def read_text(path, *given, **more):
        text = whole(path, *given, **more)
        way = files.get(path)
        if way == "away":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        if way == "other":
            return '{"a": 1}' if text.lstrip().startswith("[") else "[1]"
        return text[: len(text) // 2] if way else text

    def breaks(name, way):
        files[ASSETS / name] = way
        forget()

    def read_lines(path):
        return iter(Path(path).read_text(encoding="utf-8").splitlines(keepends=True))

    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr("specviz.trace.file.read_lines", read_lines)  # reads traces line by line
    yield breaks
    forget()


def forget():
    """Clear the caches of files that were read before."""
    for reader in CACHES:
        reader.cache_clear()


@pytest.mark.parametrize("way", WRONG)
def test_error_for_a_broken_file_names_the_file_and_the_problem(broken, way):
    for name, read in READERS.items():
        if way == "away" and name in MAY_BE_AWAY:
            continue
        broken(name, way)
        with pytest.raises(BrokenFile) as said:
            read()
        assert str(said.value).startswith(f"The file assets/{name}, which ships with specviz, ")
        assert WRONG[way] in str(said.value)
        broken(name, None)


def test_command_and_run_with_broken_catalogue_give_readable_error(broken, capsys):
    broken("catalog.json", "half")
    assert main(["models"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith("specviz: The file assets/catalog.json, ")
    with pytest.raises(BrokenFile, match=r"^The file assets/catalog\.json, which ships with "):
        RunRequest.from_json({"prompt": "Once"})


def test_damaged_external_catalogue_raises_readable_error(monkeypatch, tmp_path):
    place = tmp_path / "rows.json"
    place.write_text("[{")
    monkeypatch.setenv(entry.MORE_ROWS, str(place))
    forget()
    with pytest.raises(ValueError, match="SPECVIZ_CATALOG") as said:
        RunRequest.from_json({"prompt": "Once"})
    assert str(said.value) == "The file that SPECVIZ_CATALOG names is not valid JSON."
    monkeypatch.undo()
    forget()


async def built():
    """Build the page inside an event loop; otherwise Gradio creates one and leaves it open."""
    return build(Options(), Worker(Machine()), Worker(Machine()))


def page():
    """Return the element ids on the page, and its markup."""
    demo = asyncio.run(built())
    assert launch_arguments(Options())["css"]
    parts = demo.config["components"]
    placed = set(re.findall(r"'id': (\d+)", str(demo.config["layout"])))
    assert {str(one["id"]) for one in parts} <= placed, "for one without a place the page waits"
    return {one["props"].get("elem_id") for one in parts}, str(
        [one["props"].get("value") for one in parts]
    )


LACKED = {
    "prompts.json": "There are no examples to choose from.",
    "traces/recipes.json": "The recorded runs have no titles.",
    "races/recipes.json": "The recorded races have no titles.",
    "cost/sweep.json": "The recorded sweep cannot be shown.",
    "cost/acceptance.json": "Published values of α cannot be shown.",
    "cost/measured/cpu-2-cores.json": "One of the machines measured below cannot be shown.",
}


@pytest.mark.slow
def test_page_opens_without_what_broken_files_hold_and_says_so(broken):
    """A section that needs the file is left out; another says what it lacks."""
    for name in ("cost/hardware.json", "trees/ranking.json", "public.json"):
        broken(name, "half")
    for name, way in zip(LACKED, ("half", "other", "half", "other", "half", "half"), strict=True):
        broken(name, way)
    ids, words = page()
    for name, what in LACKED.items():
        assert f"{what} The file assets/{name}, which ships with specviz, is damaged: " in words
    told = re.findall(r"This part cannot be shown\. The file (\S+),", words)
    hardware = ["assets/cost/hardware.json"] * 3  # server, roofline, adaptive
    domains = ["assets/prompts.json"]  # domain by domain, which measures them
    others = ["assets/public.json", "assets/trees/ranking.json"]
    assert sorted(told) == [*hardware, *domains, *others]
    assert {"sv-step", "sv-run", "sv-race", "sv-raceform", "sv-part-grow"} <= ids
    shown = ("formula", "trees", "published", "sweep", "shapes")
    assert {f"sv-part-{name}" for name in shown} <= ids
    assert not {f"sv-part-{name}" for name in ("roofline", "adaptive", "rounding", "models")} & ids
    assert list(shapes.files()) == ["cpu-2-cores-bfloat16", "h100-bfloat16"]
    first = step_runs.opening()
    assert (first.prompt, first.drafter) == (EXAMPLE, "draft-model")
    assert race_form.opening().prompt == EXAMPLE


RUN, PLACE = "05-eagle3", "1-eagle3-story"


GROWN = {
    "place": PLACE, "kind": "dynamic", "depth": 2, "width": 2, "budget": 4, "own": "", "seed": 1,
    "cold": "warm", "step": 1, "last": 1, "shown": "all", "zoom": 1, "picked": 0,
    "prompt": "",
}  # fmt: skip


@pytest.mark.parametrize("way", WRONG)
def test_recording_damaged_while_serving_gives_readable_error(broken, way):
    broken(f"traces/{RUN}.jsonl", way)
    with TestClient(Starlette(**server.app_kwargs()), "http://localhost") as client:
        sent = client.get(f"{server.PREFIX}/traces/{RUN}")
    with pytest.raises(ValueError, match="cannot be read") as judged:
        proof.verdicts(RUN)
    assert sent.status_code == 422
    for told in (sent.text, str(judged.value)):
        assert told.startswith(f"The recorded run '{RUN}' cannot be read: ")
        assert str(ASSETS) not in told
    broken(f"trees/{PLACE}.jsonl", way)
    with pytest.raises(ValueError, match="which ships with") as refused:
        grow.respond(GROWN)
    problem = str(refused.value)
    assert problem.startswith(f"The file assets/trees/{PLACE}.jsonl, which ships with ")
    assert WRONG[way] in problem


def test_tree_is_shown_even_if_the_cost_measurements_are_missing(broken):
    broken("cost/sweep.json", "half")
    assert "is unknown here" in grow.respond(GROWN)["paid"]


@pytest.mark.slow
def test_page_opens_without_catalogue(broken):
    broken("catalog.json", "away")
    ids, words = page()
    assert words.count("The file assets/catalog.json, which ships with specviz, is missing.") >= 4
    assert "sv-part-formula" in ids
    assert "sv-step" not in ids
