"""The house keeps its shape: imports go one way, heavy ones are lazy, rooms stay small."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import discreet
from discreet.forms import list_forms
from discreet.release.manifest import OLDER_FORMS

SOURCE = Path(discreet.__file__).parent
ROOMS = [
    "errors", "files", "kernels", "table", "principles", "release", "cluster", "sql", "forms",
    "serving", "publishing", "pages", "evaluate", "analysis", "auditing", "datasets", "steward",
    "experiments",
    "demo", "studio", "cli",
]  # fmt: skip
"""From left to right; a room may import what lies left of it."""
FACE = {
    ("release", "forms"),  # release.write, release.query, release.reconstruct, release.sample
    ("release", "analysis"),  # release.crosstab, release.histogram, release.regress, release.impute
    ("table", "steward"),  # read(..., schema="plan.toml")
    ("publishing", "steward"),  # publish(a DataFrame of Spark), which gives
    ("publishing", "auditing"),  # what its audit found
}
"""Conveniences on public objects that forward to the right, imported when called."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """All discreet modules a file imports, and whether only inside a function or for types."""
    found = []
    tree = parse(path)
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "discreet":
                names = [f"discreet.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(n, id(node) not in top) for n in names if n.startswith("discreet.")]
    return found


FILES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")
LEVEL = {room: level for level, room in enumerate(ROOMS)}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def every_file(rule: Callable[[Path], None]) -> Callable[[], None]:
    """Ask a rule of every file, and name those that break it."""

    def ask() -> None:
        broken = []
        for path in FILES:
            try:
                rule(path)
            except AssertionError as error:
                broken.append(f"{path.relative_to(SOURCE)}: {error}")
        assert not broken, "\n".join(broken)

    ask.__name__, ask.__doc__ = rule.__name__, rule.__doc__
    return ask


def test_every_room_is_in_the_picture() -> None:
    assert {room_of(path) for path in FILES} == set(LEVEL)
    picture = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for room in LEVEL:
        assert room in picture, room


@every_file
def test_imports_go_left(path: Path) -> None:
    here = room_of(path)
    for name, lazy in imports_of(path):
        there = name.split(".")[1]
        if there.startswith("_"):
            continue
        allowed = LEVEL[there] <= LEVEL[here] or (lazy and (here, there) in FACE)
        assert allowed, f"{path.name} imports {name}"


FORMAT = {"permuted.help_table", "swapped.rank_windows", "perturbed.randomized_response",
          "sliced.tied", "noisy.layout", "wording",
          *(f"{name}.wording" for name in list_forms())}  # fmt: skip
"""What the format of a release says: of a table that follows from another, and in words."""


def test_the_auditor_shares_with_the_publisher_only_groups_principles_and_labels() -> None:
    """Whoever makes releases must not be imported by whoever reads and checks them."""
    theirs = {f"discreet.kernels.{name}" for name in ("match", "flow", "options", "exchanges")}
    both = {f"discreet.kernels.{name}" for name in ("bounds", "workload", "coincidences")}
    for path in FILES:
        names = {name for name, _ in imports_of(path)}
        kernels = {name for name in names if ".kernels" in name}
        if room_of(path) in ("forms", "auditing"):
            assert not {n for n in names if n.startswith("discreet.publishing")}, path
            assert kernels <= theirs | both, path
        else:
            assert not kernels & theirs, path
        if room_of(path) == "publishing":
            used = {n.removeprefix("discreet.forms.") for n in names if ".forms." in n}
            assert used <= FORMAT, path


@pytest.mark.parametrize("command", [["--help"], ["publish", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(command: list[str]) -> None:
    """Typer itself brings pydantic once it parses options; nothing of ours may add to that."""
    script = (
        "import sys\n"
        f"sys.argv = ['discreet', *{command!r}]\n"
        "from discreet.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'duckdb', 'sqlglot', 'numpy', 'polars', 'numba', 'pyarrow', 'jinja2', 'pandas',\n"
        "         'pyspark'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_loading_a_release_does_not_import_numba(tmp_path: Path) -> None:
    script = (
        "import sys, discreet as dc\n"
        "try:\n    dc.load('nowhere')\n"
        "except dc.DiscreetError:\n    pass\n"
        "print('numba' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_every_public_name_is_there() -> None:
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    with pytest.raises(AttributeError):
        discreet.nothing  # noqa: B018


def test_nothing_lies_in_the_root_but_rooms() -> None:
    there = {path.stem for path in SOURCE.glob("*.py")}
    assert there == {"__init__", "errors", "demo"}


@every_file
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 440


def test_no_module_is_called_what_says_nothing() -> None:
    assert not {p.stem for p in FILES} & {"utils", "util", "helpers", "helper", "common", "misc"}


TRIALS = {"t", "first"}
"""What trials of a comparison are called; they are sorted by their method."""


@every_file
def test_what_is_known_about_a_release_goes_by_its_form(path: Path) -> None:
    """Asking who made it would shut out another algorithm for the same form."""
    for node in ast.walk(parse(path)):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            asked = [node.slice]
        elif isinstance(node, ast.Match):
            asked = [node.subject]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked = list(node.args) if node.func.attr in ("get", "startswith", "endswith") else []
        names = {part.attr for part in asked if isinstance(part, ast.Attribute)
                 and ast.unparse(part.value) not in TRIALS}  # fmt: skip
        # releases that name no form yet are of the one that their method made, looked up once
        # and parameters are held against those of the method, where the form knows it
        allowed = {"method"} if path.name in ("manifest.py", "claims.py") else set()
        assert not names & {"method", "form"} - allowed, f"{path.name}:{node.lineno}"  # type: ignore[attr-defined]


@every_file
def test_what_a_view_is_only_forms_know(path: Path) -> None:
    """Everyone else asks it; a ladder of classes would have to know every form."""
    if room_of(path) == "forms":
        return
    kinds = tuple(f"discreet.forms.{name}." for name in list_forms())
    read = {f"{name}.".removeprefix("discreet.forms.").rstrip(".")
            for name, _ in imports_of(path) if f"{name}.".startswith(kinds)}  # fmt: skip
    assert read <= FORMAT
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"isinstance\([^)]*\b(view|View|\w+View)\b", text)


@every_file
def test_what_forms_and_their_tables_are_called_only_they_say(path: Path) -> None:
    """Who else spelled it would know what is the form's to say."""
    if room_of(path) in ("forms", "publishing", "experiments", "demo"):
        return
    words = {word for form in list_forms().values() for word in (form.name, *form.auxiliary)}
    tree = parse(path)
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    allowed = set(OLDER_FORMS.values()) if path.name == "manifest.py" else set()
    assert not said & words - allowed


CAMEL_CASE = re.compile(r"_?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")


def test_every_class_has_a_name_of_its_own() -> None:
    """A reader who has met a name, of a class or a type, must not meet it for something else."""
    found: dict[str, list[str]] = {}
    for path in FILES:
        tree = parse(path)
        names = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
            given = [target.id for target in targets if isinstance(target, ast.Name)]
            names += filter(CAMEL_CASE.fullmatch, given)
        for name in names:
            found.setdefault(name, []).append(path.name)
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
