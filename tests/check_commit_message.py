"""Check a commit message. Usage: python tests/check_commit_message.py FILE

The subject is imperative ("Add a rule", not "Added a rule" or "A new rule"), has at most 72
characters and no full stop at its end; the second line is blank. pre-commit runs this when a
commit is made. Standard library only.
"""

from __future__ import annotations

import sys
from pathlib import Path

LONGEST = 72
MADE_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
SCISSORS = "# ------------------------ >8 ------------------------"

# First words that cannot begin an imperative. This is a heuristic: other nouns pass.
NOT_VERBS = """a an the this that these those it its one no not all any both each every more most
some many who what when where which while why how if as at by for from in into of on to with without
and but or new now only there here today i we you they he she my our your their
after again also always before never readme docs"""
# Verbs whose imperative looks like another form.
PLAIN = """bleed breed embed exceed feed heed need proceed seed shed speed weed
bring cling fling ping ring sing spring sting string swing alias bias focus"""
OTHER_FORMS = ("ed", "ing", "s")


def problems(message: str) -> list[str]:
    """List the problems of a commit message, one sentence per problem."""
    lines = _own_lines(message)
    subject = lines[0] if lines else ""
    if not subject.strip():
        return ["The message has no subject."]
    if subject.startswith(MADE_BY_GIT):
        return []
    found = [*_subject_problems(subject)]
    if len(lines) > 1 and lines[1].strip():
        found.append("The second line must be blank.")
    return found


def _own_lines(message: str) -> list[str]:
    """Return the author's lines, without git's comments and the diff below them."""
    written = message.partition(SCISSORS)[0].splitlines()
    lines = [line.rstrip() for line in written if not line.startswith("#")]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return lines


def _subject_problems(subject: str) -> list[str]:
    found = []
    if len(subject) > LONGEST:
        found.append(f"The subject has {len(subject)} characters, more than {LONGEST}.")
    if subject.endswith("."):
        found.append("The subject ends with a full stop.")
    if subject != subject.strip() or not subject[0].isupper():
        found.append("The subject must begin with a capital letter.")
    if not is_imperative(subject):
        first = subject.split(maxsplit=1)[0]
        found.append(f"The subject must say what the commit does, as an order; {first!r} is none.")
    return found


def is_imperative(subject: str) -> bool:
    """Return whether the first word can be an imperative."""
    word = subject.split(maxsplit=1)[0].lower()
    if not word.replace("-", "").isalpha() or word in NOT_VERBS.split():
        return False
    return word in PLAIN.split() or word.endswith("ss") or not word.endswith(OTHER_FORMS)


def main(path: str) -> int:
    """Print the problems of the message in a file; return 1 if there are any."""
    found = problems(Path(path).read_text(encoding="utf-8"))
    for sentence in found:
        print(sentence, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
