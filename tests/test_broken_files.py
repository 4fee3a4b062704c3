"""Files that ship, missing or damaged: each is named, and the page opens without its part."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from specviz.catalog import entry, public
from specviz.commands.cli import main
from specviz.compare import recipes as races
from specviz.compare.domains import plan
from specviz.cost import sources
from specviz.cost.server import example
from specviz.shipped import ASSETS, BrokenFile, prompts, recipes
from specviz.trees import ranks, recorded, study
from specviz.ui.page import Options, build, launch_arguments
from specviz.ui.task import Machine
from specviz.ui.worker import Worker

READERS = {
    "catalog.json": entry.entries,
    "public.json": public.public,
    "prompts.json": prompts,
    "traces/recipes.json": recipes,
    "races/recipes.json": races.recipes,
    "trees/recipes.json": recorded.recipes,
    "trees/ranking.json": study.measured,
    "trees/ranks.json": ranks.known,
    "models/measured.json": plan.recorded,
    "models/peers.json": example.example,
    "models/target/config.json": sources.models,
    "cost/hardware.json": sources.machines,
    "cost/shapes.json": sources.models,
    "cost/headline.json": sources.headline,
    "cost/spec_bench.json": sources.boards,
    "cost/acceptance.json": sources.acceptances,
}
MAY_BE_AWAY = {
    "traces/recipes.json", "races/recipes.json", "trees/ranking.json", "trees/ranks.json",
    "models/measured.json",
}  # fmt: skip
WRONG = {"half": "is not whole JSON", "other": "does not say what it should", "away": "is missing"}
CACHES = [each for each in READERS.values() if hasattr(each, "cache_clear")]


@pytest.fixture
def broken(monkeypatch):
    """Breaks files of the assets for whoever reads them, in one of the ways of WRONG."""
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

    monkeypatch.setattr(Path, "read_text", read_text)
    yield breaks
    forget()


def forget():
    """What was read before is read anew."""
    for reader in CACHES:
        reader.cache_clear()


CASES = [(n, w) for n in READERS for w in WRONG if w != "away" or n not in MAY_BE_AWAY]


@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_broken_file_is_named_with_what_is_wrong(broken, name, way):
    broken(name, way)
    with pytest.raises(BrokenFile) as said:
        READERS[name]()
    assert str(said.value).startswith(f"The file assets/{name}, which ships with specviz, ")
    assert WRONG[way] in str(said.value)


def test_a_command_that_needs_a_broken_file_is_one_sentence(broken, capsys):
    broken("catalog.json", "half")
    assert main(["models"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("specviz: The file assets/catalog.json, ")
    assert said.err.count("\n") == 1


async def built():
    """The page; in a loop, since Gradio would leave one open that it had to make."""
    return build(Options(), Worker(Machine()), Worker(Machine()))


def page():
    """The ids of what is on the page, and its markup."""
    demo = asyncio.run(built())
    assert launch_arguments(Options())["css"]
    placed = str(demo.config["layout"])
    parts = [one for one in demo.config["components"] if f"'id': {one['id']}," in placed]
    return {one["props"].get("elem_id") for one in parts}, str(
        [one["props"].get("value") for one in parts]
    )


def test_the_page_opens_without_the_parts_whose_files_are_broken(broken):
    for name in ("cost/hardware.json", "trees/ranking.json", "public.json"):
        broken(name, "half")
    ids, words = page()
    told = re.findall(r"This part cannot be shown\. The file (\S+),", words)
    server, roofline = ["assets/cost/hardware.json"] * 2
    assert sorted(told) == [server, roofline, "assets/public.json", "assets/trees/ranking.json"]
    assert {"sv-step", "sv-race", "sv-grow", "sv-law", "sv-headline"} <= ids
    assert not {"sv-roofline", "sv-rank", "sv-models"} & ids


def test_the_page_opens_without_a_catalogue(broken):
    broken("catalog.json", "away")
    ids, words = page()
    assert words.count("The file assets/catalog.json, which ships with specviz, is missing.") >= 4
    assert "sv-law" in ids
    assert "sv-step" not in ids
