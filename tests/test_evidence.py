"""The inspector explains why a guess was made, for every drafter family."""

import json
from dataclasses import replace

import pytest
import tiny
from families import KNOWING_NOTHING, target_of
from made import Recipe, made
from recorded_runs import LANES, RUNS, read
from test_engine import traced

from specviz.frames import Scene, frames
from specviz.frames.evidence import FORMS, evidence_section
from specviz.frames.scene import flat
from specviz.settings.settings import Sampling, Settings

WARM = Settings(Sampling(0.9), gamma=4, max_new_tokens=14, exit_layer=1)
CHAIN = Recipe(point_mass=True, odd=False, rounds=14)
BUSHY = Recipe(shape=(2, 2), point_mass=True, odd=False, bushy=True, rounds=14)
LATE = 14  # a round with some text before it


@pytest.mark.slow
@pytest.mark.parametrize("family", KNOWING_NOTHING)
def test_every_drafter_explains_its_guesses_briefly_and_in_a_known_form(family):
    """Play a real run of every family, with untrained weights."""
    target = target_of(family)
    run = traced(target, KNOWING_NOTHING[family](target), tiny.PROMPT, WARM, baseline=False)
    forms = {turn.proposed.remark["form"] for turn in run.rounds if remark_of(turn)}
    assert forms
    assert forms <= set(FORMS)
    told = set()
    for scene in (Scene.of(run, index) for index in range(len(run.rounds))):
        for step, shot in zip(scene.steps, frames(scene), strict=True):
            section = shot["panel"].get("why")
            if section:
                told.add(step.kind)
                check_section(section, shot["panel"]["rows"])
            assert section or step.kind != "propose" or not scene.guesses
    assert told == {"propose", "score"}


def remark_of(turn):
    """Return a drafter's reason for a round's guesses, if it gave one."""
    return turn.proposed and turn.proposed.remark


def check_section(section, rows):
    """Assert that evidence is short and its tokens have bytes: one without is shown as #17."""
    text = json.dumps(section)
    assert len("".join(section["say"]).split()) <= 20
    assert "null" not in text
    assert '"c": "#' not in text
    assert len(rows) <= 6
    assert all(len(block.get("rows", [])) <= 9 for block in section["blocks"])


def scene_with(remark, each, recipe=CHAIN, index=LATE):
    """Return a made-up round with this evidence of the drafter; each: evidence by (node, depth)."""
    scene = Scene.of(made(recipe), index)
    guesses = [
        replace(guess, evidence=each(node, scene.depths[node]))
        for node, guess in enumerate(scene.guesses, 1)
    ]
    scene.round.proposed = replace(scene.round.proposed, remark=remark, guesses=guesses)
    return scene


def at(scene, place):
    """Return the section of the step with this name."""
    return evidence_section(
        scene, next(step for step in scene.steps if (step.kind, step.at) == place)
    )


def scored(scene):
    return at(scene, ("score", 0))


def block(section, form, index=0):
    return [one for one in section["blocks"] if one["as"] == form][index]


def words_by_kind(line):
    """Return a line's words by kind."""
    return {one["is"]: [flat(word) for word in one["words"]] for one in line["spans"]}


def cells(grid):
    """Return a grid's cells as text (word, number or state) by the row's name."""
    return {
        row.get("label") or flat(row["w"]): [
            flat(cell["w"]) if "w" in cell else cell.get("n") or cell.get("s", "")
            for cell in row["cells"]
        ]
        for row in grid["rows"]
    }


def guesses(scene):
    return [flat(scene.word(guess.token)) for guess in scene.guesses]


def test_evidence_of_n_gram_shows_the_match_and_the_end_of_the_text():
    remark = {"form": "match", "start": 1, "length": 2}
    scene = scene_with(remark, lambda node, _: {"from": 2 + node})
    text = [flat(scene.word(token)) for token in scene.text]
    assert len(text) > 8
    earlier, now = scored(scene)["blocks"]
    assert words_by_kind(earlier)["match"] == text[1:3]
    assert words_by_kind(earlier)["copied"] == text[3 : 3 + len(scene.guesses)]
    assert earlier["label"] == "from token 2"
    assert words_by_kind(now)["match"] == text[-2:]
    assert words_by_kind(now)["copied"] == guesses(scene)
    second = at(scene, ("propose", 2))
    assert words_by_kind(second["blocks"][1])["copied"] == guesses(scene)[:2]
    first, last = len(scene.header.prompt_ids), len(scene.text) - 1
    marked = {place + first: kind for place, kind in second["marks"]["past"]}
    copied = {3: "copied", 4: "copied"}
    assert marked == {2: "match", last - 1: "match", last: "match"} | copied


def test_highlights_in_the_prompt_cover_whole_characters_and_merge():
    fox = "🦊".encode()
    words = {7: b"<s>", 1: b"A", 2: "é".encode(), 3: fox[:2], 4: fox[2:], 5: b"b"}
    scene = scene_with({"form": "match", "start": 1, "length": 2}, lambda node, _: {"from": 3})
    header = replace(scene.header, prompt="Aé🦊b", prompt_ids=[7, 1, 2, 3, 4, 5])
    scene = replace(scene, header=header, vocabulary={**scene.vocabulary, **words})
    assert scene.prompt_spans == [(0, 0), (0, 1), (1, 2), (2, 2), (2, 4), (4, 5)]
    assert scored(scene)["marks"]["prompt"] == [(0, 2, "match")]
    other = replace(scene, header=replace(header, prompt="Ae"))
    assert other.prompt_spans == []


@pytest.mark.parametrize("form", ["features", "modules"])
def test_evidence_shows_that_each_guess_reads_the_state_of_the_token_before(form):
    remark = {"form": form, "passes": 5, "modules": 1}
    if form == "features":
        each = lambda _, depth: {"rank": 0, "guessed_features": depth - 1}  # noqa: E731
    else:
        each = lambda _, depth: {"module": 1, "state": 3, "own": depth - 1}  # noqa: E731
    scene = scene_with(remark, each)
    table = block(scored(scene), "grid")
    found = cells(table)
    assert found["guess"] == guesses(scene)
    assert found["token"] == [flat(scene.word(scene.text[-1])), *guesses(scene)[:-1]]
    assert found["state of"][1:] == found["token"][:-1]
    assert found["state of"][0] == flat(scene.word(scene.text[-2]))
    read = next(row for row in table["rows"] if row.get("label") == "state of")
    assert [cell["is"] for cell in read["cells"]] == ["given", *["own"] * (len(read["cells"]) - 1)]


def test_evidence_of_a_block_shows_all_positions_from_the_first_step():
    places = [[{"token": n, "p": 0.5}, {"token": n + 1, "p": 0.2}] for n in range(6)]
    remark = {"form": "block", "block": 7, "passes": 1, "states": 9, "masks": 6}
    remark["places"] = places
    scene = scene_with(remark, lambda node, _: {"place": node})
    table = block(at(scene, ("propose", 1)), "grid")
    assert table == block(scored(scene), "grid")
    shown = [flat(cell["w"]) for cell in table["rows"][0]["cells"]]
    assert shown == [flat(scene.word(n)) for n in range(6)]
    marked = [cell.get("is") for cell in table["rows"][0]["cells"]]
    assert marked == ["guess"] * len(scene.guesses) + [None] * (6 - len(scene.guesses))


@pytest.mark.parametrize("masks", [0, 5])
@pytest.mark.parametrize("form", ["parallel", "masks"])
def test_evidence_of_parallel_pass_shows_a_token_only_in_the_first_row(form, masks):
    places = [[{"token": n, "p": 0.5}, {"token": n + 1, "p": 0.2}] for n in range(masks + 1)]
    read = {"states": 9} if form == "parallel" else {"rows": 3 + masks}
    remark = {"form": form, "passes": 1, "masks": masks, "places": places, **read}
    scene = scene_with(remark, lambda node, _: {"place": node})
    section = scored(scene)
    table = block(section, "grid")
    assert cells(table)["read"] == [flat(scene.word(scene.text[-1])), *["mask"] * masks]
    assert [cell["is"] for cell in table["rows"][0]["cells"]] == ["given", *["own"] * masks]
    assert cells(table)["1st"] == [flat(scene.word(n)) for n in range(masks + 1)]
    assert cells(table)["2nd"] == [flat(scene.word(n + 1)) for n in range(masks + 1)]
    assert [key for key, _ in table["keys"]] == ["given", "own"][: 1 + bool(masks)]
    assert ("mask" in section["say"][0]) is bool(masks)
    marked = {
        row.get("label") for row in table["rows"] for c in row["cells"] if "guess" in c.values()
    }
    assert marked == ({"1st"} if form == "parallel" else {"guess"})
    if form == "masks":
        assert cells(table)["guess"] == guesses(scene)


def test_evidence_shows_no_tokens_if_the_text_is_unknown():
    remark = {"form": "match", "start": 1, "length": 2}
    known = scene_with(remark, lambda node, _: {"from": 2 + node})
    scene = Scene(known.header, known.vocabulary, known.round)
    assert scene.text == []
    earlier, now = scored(scene)["blocks"]
    assert set(words_by_kind(earlier)) <= {"gap"}
    assert words_by_kind(now) == {"copied": guesses(scene)}
    assert "marks" not in scored(scene)


PLAIN = "The drafter's top token at position +1 is "


@pytest.mark.slow
def test_unknown_or_incomplete_evidence_is_not_shown():
    for remark in (
        {"passes": 3},
        {"form": "novel", "passes": 3},
        {"form": ["match"], "start": 0, "length": 1},
        {"vocabulary": 9},
        {"min": 1, "max": 3, "start": 0, "length": 1},
        {"form": "features"},
        {"form": "match"},
        {"form": "counts"},
    ):
        scene = scene_with(remark, lambda node, _: {"from": node, "rank": 0, "count": 1})
        assert scored(scene) is None, remark
        assert sentence(scene, 1).startswith(PLAIN)
        none = scene_with(remark, lambda *_: None, Recipe(drafts=False), 3)
        searched = remark.get("form") in ("match", "counts")
        assert sentence(none, 1).startswith("The drafter has no guess here") is not searched
    assert scored(scene_with({"form": "match", "start": 0, "length": 1}, lambda *_: {})) is None
    assert scored(Scene.of(made(CHAIN), LATE)) is None


@pytest.mark.slow
def test_every_form_of_evidence_is_used_by_a_shipped_drafter():
    """Every recorded round with evidence also has a known form."""
    rounds = [turn for path in [*RUNS, *LANES] for turn in read(path).rounds]
    assert {turn.proposed.remark["form"] for turn in rounds if remark_of(turn)} == set(FORMS)


def sentence(scene, depth):
    parts = frames(scene)[depth - 1]["caption"]["parts"]
    return "".join(part if isinstance(part, str) else flat(part["w"]) for part in parts)


@pytest.mark.slow
def test_panel_of_a_wide_tree_lists_the_newest_guesses_then_the_first():
    recipe = replace(BUSHY, shape=(4, 2))
    remark = {"form": "counts", "factor": 1.0, "least": 0.1, "start": 0, "length": 1}
    scene = scene_with(remark, lambda node, _: {"count": 1, "total": 2, "from": node}, recipe)
    said = guesses(scene)
    assert len(said) == 12
    for place, shown in ((("propose", 2), said[-5:]), (("score", 0), said[:5])):
        listed = block(at(scene, place), "rows")
        assert [flat(row["words"][0]) for row in listed["rows"]] == shown
        assert listed["more"] == 7
    panels = [shot["panel"] for shot in frames(scene)][1:3]
    assert [[flat(row["w"]) for row in panel["rows"]] for panel in panels] == [said[-6:], said[:6]]
    assert all((panel["shown"], panel["of"]) == (6, 12) for panel in panels)


@pytest.mark.parametrize(("point_mass", "label"), [(True, "rank"), (False, "sampled")])
def test_sampled_siblings_are_numbered_and_not_ranked(point_mass, label):
    recipe = replace(BUSHY, shape=(3, 2), point_mass=point_mass)
    remark = {"form": "features", "passes": 2}
    scene = scene_with(remark, lambda _, depth: {"rank": 0, "guessed_features": depth - 1}, recipe)
    assert cells(block(scored(scene), "grid"))[label] == ["1st of 3", "1st of 2"]
