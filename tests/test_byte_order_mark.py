"""Text files that begin with a byte order mark, as editors on Windows write them."""

from __future__ import annotations

import codecs
import io
import re
from pathlib import Path

from test_server_texts import vllm

from specviz.commands.cli import main
from specviz.cost.server.loading import parse_stats, strip_metrics
from specviz.shipped import FOLDER
from specviz.trace.file import Trace

ROOT = Path(__file__).resolve().parent.parent
RUN = FOLDER / "07-learning.jsonl"


def marked(path: Path, source: Path | str) -> Path:
    """Write a text, or the text of a file, after a byte order mark."""
    data = source.encode() if isinstance(source, str) else source.read_bytes()
    path.write_bytes(codecs.BOM_UTF8 + data)
    return path


def test_a_marked_trace_is_checked_and_exported(tmp_path, capsys):
    trace = marked(tmp_path / "run.jsonl", RUN)
    assert main(["check", str(trace)]) == 0
    assert main(["export", str(trace), "--html", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().err == ""
    assert Trace.read(trace) == Trace.read(RUN)


def test_marked_statistics_of_a_server_are_read(tmp_path, monkeypatch, capsys):
    late = marked(tmp_path / "late", vllm(160, 640, 250, (120, 80, 50, 0)))
    early = marked(tmp_path / "early", vllm())
    assert main(["server", str(late), "--before", str(early)]) == 0
    assert re.search(r"Drafts +60\n", capsys.readouterr().out)
    text = early.read_text(encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["server", "-"]) == 0
    assert parse_stats(text) == parse_stats(strip_metrics(text)) == parse_stats(vllm())


OWN = {"specviz/ui", "specviz/texts"}  # these read only files of the package
PLAIN = re.compile(r"read_text\((encoding=)?\"utf-8\"\)|open\([^)]*\"utf-8\"\)|read_text\(\)")


def test_no_module_reads_a_text_file_without_allowing_a_mark():
    for path in sorted((ROOT / "specviz").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if any(name.startswith(folder) for folder in OWN) or name == "specviz/models/devices.py":
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            reads = '"a"' not in line and '"w"' not in line
            assert not (reads and PLAIN.search(line)), f"{name}: {line.strip()}"
