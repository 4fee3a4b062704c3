"""The pictures of the README: both themes, small files, and an animation slow enough to read."""

from __future__ import annotations

import re

import pytest
import readme_pictures
from PIL import Image

NAMES = ("rejection", "step", "compare", "lossless")
LINKED = re.compile(r'(?:src|srcset)="(docs/images/[^"]+)"|\]\((docs/images/[^)]+)\)')


@pytest.mark.parametrize("name", NAMES)
def test_each_readme_picture_exists_in_both_themes_with_the_same_size(name):
    sizes = set()
    for theme in readme_pictures.THEMES:
        with Image.open(readme_pictures.FOLDER / f"{name}-{theme}.webp") as picture:
            sizes.add(picture.size)
    assert len(sizes) == 1


def test_readme_pictures_together_stay_below_the_size_limit():
    total = sum(path.stat().st_size for path in readme_pictures.FOLDER.glob("*.webp"))
    assert 0 < total <= readme_pictures.LIMIT


@pytest.mark.parametrize("theme", readme_pictures.THEMES)
def test_animation_has_6_to_10_frames_shown_long_enough_to_read(theme):
    with Image.open(readme_pictures.FOLDER / f"rejection-{theme}.webp") as picture:
        frames, durations = picture.n_frames, []
        for index in range(frames):
            picture.seek(index)
            picture.load()
            durations.append(picture.info["duration"])
    assert 6 <= frames <= 10
    assert min(durations) >= readme_pictures.SHORT
    assert durations.count(readme_pictures.LONG) >= 5
    assert sum(durations) <= 25_000


def test_pictures_that_the_readme_shows_exist():
    text = (readme_pictures.ROOT / "README.md").read_text(encoding="utf-8")
    names = [first or second for first, second in LINKED.findall(text)]
    assert [name for name in names if not (readme_pictures.ROOT / name).is_file()] == []
