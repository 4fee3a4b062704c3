"""The training corpus, read one domain at a time.

Whether a document is held out depends on its text alone, not on its position or on a seed.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HELD_OUT_PER_THOUSAND = 20


class CorpusError(ValueError):
    """Raised if the corpus cannot be read; the message is a sentence for the user."""


@dataclass(frozen=True)
class Source:
    """One domain of the corpus.

    Attributes:
        share: Its share of the training tokens, before normalization.
        held_out: Name of a separate domain that consists of validation text only; None if the
            validation text is split off from this domain.
    """

    domain: str
    share: float
    about: str
    origin: str
    licence: str
    held_out: str | None = None


SOURCES = (
    Source(
        "tinystories",
        0.32,
        "very simple synthetic stories",
        "TinyStories (Eldan & Li), in part re-cased by rule",
        "CDLA-Sharing-1.0",
    ),
    Source(
        "dialogues",
        0.20,
        "`User:` / `Assistant:` task dialogues",
        "Schema-Guided Dialogue (Google), train; its dev part is the validation text",
        "CC BY-SA 4.0",
        held_out="dialogues_dev",
    ),
    Source(
        "python",
        0.16,
        "Python source",
        "16 public repositories",
        "MIT, BSD-3-Clause, Apache-2.0",
    ),
    Source("maths", 0.14, "word problems with worked answers", "GSM8K, train", "MIT"),
    Source(
        "fairytales", 0.07, "fairy tales", "FairytaleQA stories", "Apache-2.0, texts public domain"
    ),
    Source(
        "storybooks",
        0.07,
        "Andersen, Grimm, Lang, Baum, Nesbit, Potter and others",
        "Project Gutenberg",
        "public domain",
    ),
    Source(
        "picture_books", 0.03, "picture-book English", "African Storybook, CC BY stories", "CC BY"
    ),
)


def documents(corpus: str, domain: str) -> Iterator[str]:
    """Yield the texts of one domain.

    corpus: folder with `<domain>.jsonl.xz` or `<domain>.jsonl` files, one `{"text": ...}` per line;
    or the name of a Hub data set that contains such files. Raises CorpusError if the folder, the
    file or the package `datasets` is missing.
    """
    folder = Path(corpus)
    if folder.is_dir():
        yield from _from_folder(folder, domain)
    elif corpus.count("/") == 1 and not corpus.startswith((".", "/", "~")):
        yield from _from_hub(corpus, domain)
    else:
        raise CorpusError(
            f"There is no folder {corpus!r}. Give --corpus a folder of <domain>.jsonl.xz files, "
            "or the owner/name of a Hub data set that holds them."
        )


def split_documents(corpus: str, source: Source) -> tuple[list[str], list[str]]:
    """Return the training texts and the held-out texts of a source.

    Raises CorpusError if the corpus cannot be read.
    """
    texts = list(documents(corpus, source.domain))
    if source.held_out is not None:
        return texts, list(documents(corpus, source.held_out))
    training = [text for text in texts if not is_held_out(text)]
    return training, [text for text in texts if is_held_out(text)]


def is_held_out(text: str) -> bool:
    """Return whether a document is validation text (about 2%), decided by a hash of its text."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") % 1000 < HELD_OUT_PER_THOUSAND


def _from_folder(folder: Path, domain: str) -> Iterator[str]:
    packed, plain = folder / f"{domain}.jsonl.xz", folder / f"{domain}.jsonl"
    if packed.is_file():
        lines: IO[str] = lzma.open(packed, "rt", encoding="utf-8-sig")  # noqa: SIM115
    elif plain.is_file():
        lines = plain.open(encoding="utf-8-sig")
    else:
        raise CorpusError(f"The folder {str(folder)!r} has no {packed.name} and no {plain.name}.")
    with lines:
        for line in lines:
            yield json.loads(line)["text"]


def _from_hub(name: str, domain: str) -> Iterator[str]:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise CorpusError(
            f"There is no folder {name!r}, and reading it as a Hub data set needs the package "
            "`datasets`, which is not installed."
        ) from error
    for row in load_dataset(name, data_files=f"{domain}.jsonl*", split="train"):
        yield row["text"]
