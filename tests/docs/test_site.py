"""The site builds without a warning, its examples run, and nothing is missing from it.

Pages are followed as a reader would: files are written, Python and commands run, in order, in one
folder. What a page shows as output must be in the output.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from commands import discreet_here
from discreet import experiments, principles
from discreet.publishing import methods

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGE = Path("src/discreet")
FENCE = re.compile(r"^(`{3,})(\S*)[ ]?(\S*)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
ENVIRONMENT = {
    **os.environ,
    "COLUMNS": "96",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
}


class Block(NamedTuple):
    """A fenced block: python, text (what python printed), console, or a file with a name."""

    kind: str
    text: str
    name: str = ""


def read_blocks(path: Path) -> list[Block]:
    found = []
    for _, kind, argument, body in FENCE.findall(path.read_text(encoding="utf-8")):
        named = re.match(r":caption: (\S+)\n+", body)
        if kind == "{code-block}" and named:
            found.append(Block("file", body[named.end() :], named[1]))
        elif kind in ("python", "text", "console"):
            found.append(Block(kind, body, argument))
    return found


PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
FOLLOWED = [path for path in PAGES if read_blocks(path)]


def require_shown(shown: str, printed: str) -> None:
    """Every line a page shows was printed; ``…`` stands for what the page leaves out."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for line in shown.splitlines():
        pattern = ".*".join(re.escape(part) for part in " ".join(line.split()).split("…"))
        assert any(re.fullmatch(pattern, there) for there in lines), f"{line!r}\n{printed}"


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = dict(ENVIRONMENT)
    if (folder / PACKAGE).exists():  # a page that adds to it; small tables need no compiler
        environment |= {"PYTHONPATH": str(folder / "src"), "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def write_block(block: Block) -> None:
    """Write a file; one of the package itself goes into a copy of it."""
    path = Path(block.name)
    if path.is_relative_to(PACKAGE) and not PACKAGE.exists():
        shutil.copytree(ROOT / PACKAGE, PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def follow_console(text: str, folder: Path) -> None:
    """Run the lines after ``$``; a line ``[exit code]`` ends the output of one that fails."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more
        code = re.search(r"^\[exit code (\d+)\]\n", shown, re.MULTILINE)
        plain = command.startswith("discreet ") and not re.search(r"[|><&;$`*]", command)
        if plain and not (folder / PACKAGE).exists():  # a process would load libraries first
            done = discreet_here(
                *shlex.split(command)[1:], cwd=folder, width=ENVIRONMENT["COLUMNS"]
            )
        else:
            done = run(["bash", "-c", command], folder)
        assert done.returncode == (int(code[1]) if code else 0), done.stdout + done.stderr
        shown = shown.replace(code[0], "") if code else shown
        require_shown(shown, done.stdout + done.stderr)


@pytest.mark.parametrize("path", FOLLOWED, ids=lambda p: str(p.relative_to(DOCS)))
def test_a_reader_who_follows_the_page_sees_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    namespace: dict[str, object] = {"__name__": path.stem}
    printed = ""
    for block in read_blocks(path):
        if block.kind == "python":
            with redirect_stdout(StringIO()) as written:
                exec(compile(block.text, path.name, "exec"), namespace)
            printed = written.getvalue()
        elif block.kind == "text":
            require_shown(block.text, printed)
        elif block.kind == "console":
            follow_console(block.text, tmp_path)
        else:
            write_block(block)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
         "-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")],
        ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "html" / "index.html").exists()
    for page in (tmp_path / "html").rglob("*.html"):
        fetched = re.findall(
            r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?:[^\"]+)", page.read_text()
        )
        assert not fetched, f"{page.name} needs {fetched[0]}"


def test_every_method_has_its_page() -> None:
    assert {path.stem for path in (DOCS / "methods").glob("*.md")} == {*methods.REGISTRY, "index"}
    for title in methods.REGISTRY:
        text = (DOCS / "methods" / f"{title}.md").read_text(encoding="utf-8")
        assert f"```{{parameters}} {title}\n" in text
        assert f"pictures/{title}.svg" in text


def test_every_principle_has_its_section() -> None:
    text = (DOCS / "principles.md").read_text(encoding="utf-8")
    for title in principles.REGISTRY:
        assert f"```{{leaves-open}} {title}\n" in text


def test_every_experiment_is_on_the_page_of_its_paper() -> None:
    for name in experiments.REGISTRY:
        page = DOCS / "papers" / f"{name.partition('-')[0]}.md"
        assert re.search(rf"^(### |\| )`{name}`", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_tests_named_in_the_pages_exist() -> None:
    named = [
        (path, *found)
        for path in PAGES
        for found in re.findall(r"\]\((?:\.\./)+(tests/[\w/]+\.py)\)\s+`(\w+)`", path.read_text())
    ]
    assert len(named) > 20
    for page, file, name in named:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*def {name}\(", source, re.MULTILINE), f"{page.name}: {file} {name}"
