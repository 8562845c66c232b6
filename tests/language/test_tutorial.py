"""docs/writing-rules.md does what it says: its blocks are run in order, in an empty folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import onnx

TUTORIAL = Path(__file__).parents[2] / "docs" / "writing-rules.md"
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = "import sys; from sonnx.translator.command_line import main; sys.exit(main())"


def _output(folder: Path, arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    output = done.stdout + done.stderr
    assert "Traceback" not in output, output
    return " ".join(output.split())


def _console(folder: Path, text: str) -> None:
    """Run each ``$`` line; the lines after it are in what it prints."""
    output = ""
    for line in text.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line[2:])
            assert program == "sonnx"
            output = _output(folder, arguments)
        else:
            assert " ".join(line.split()) in output, f"{line!r} is not in {output!r}"


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    blocks = BLOCK.findall(TUTORIAL.read_text("utf-8"))
    assert {kind for kind, _, _ in blocks} == {"python", "rules", "console"}
    for kind, path, text in blocks:
        if kind == "python":
            subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True, timeout=120)
        elif kind == "rules":
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text, "utf-8")
        else:
            _console(tmp_path, text)
    assert [node.op_type for node in onnx.load(tmp_path / "back" / "leaky.onnx").graph.node] == ["LeakyRelu"]
