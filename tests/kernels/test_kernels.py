"""Kernels: where nothing can be cached, they still run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import kernels
from discreet.kernels import compiled, find_cache, hash_sources


def test_a_machine_without_a_writable_cache_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_cache(_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("discreet.kernels.machine_code.keep", refuse_cache)
    assert compiled(lambda x: x + 1)(2) == 3


def test_machine_code_is_kept_by_the_content_of_all_kernels(tmp_path: Path) -> None:
    """A kernel that calls another must not keep what the other was before an update."""
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "b.py").write_text("two")
    before = hash_sources(tmp_path)
    assert hash_sources(tmp_path) == before
    (tmp_path / "b.py").write_text("three")
    assert hash_sources(tmp_path) != before
    folder = find_cache(str(tmp_path / "cache"))
    assert folder.startswith(str(tmp_path / "cache")) and Path(folder).is_dir()
    (tmp_path / "file").write_text("")
    assert find_cache(str(tmp_path / "file")) == ""


def test_a_callee_that_changed_is_compiled_again(tmp_path: Path) -> None:
    """In processes of their own, with times and sizes of the files unchanged."""
    package = tmp_path / "kernels"
    package.mkdir()
    source = Path(kernels.__file__).read_text(encoding="utf-8")
    (package / "__init__.py").write_text(source, encoding="utf-8")
    caller = "from kernels import compiled\nfrom kernels.b import rule\n\n"
    caller += "@compiled\ndef ask(x):\n    return rule(x)\n"
    (package / "a.py").write_text(caller)
    answers = []
    for sign in "+-":
        callee = f"from kernels import compiled\n\n@compiled\ndef rule(x):\n    return {sign}x\n"
        (package / "b.py").write_text(callee)
        os.utime(package / "b.py", (1, 1))
        done = subprocess.run(
            [sys.executable, "-B", "-c", "from kernels.a import ask; print(ask(3))"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        answers.append(int(done.stdout))
    assert answers == [3, -3]


@pytest.mark.parametrize("how", ["cut", "flipped", "emptied", "exchanged", "a folder"])
def test_damaged_machine_code_is_compiled_again(tmp_path: Path, how: str) -> None:
    """Flipped bits in machine code would be run; code of another signature would read past ends."""
    package = tmp_path / "loops"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(
        "from discreet.kernels import compiled\n\n@compiled\ndef add(x, y):\n    return x + y\n"
    )

    def run() -> str:
        script = "from loops.a import add; print(add(2, 3), add(2.5, 3.0), add(2, 0.5))"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True,
            env=environment, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run() == "5 5.5 2.5\n"
    kept = sorted(path for path in (tmp_path / "cache").rglob("*.nb?"))
    code = [path for path in kept if path.suffix == ".nbc"]
    assert len(code) == 3 and len(kept) == 4
    contents = [path.read_bytes() for path in kept]
    for path, content in zip(kept, contents, strict=True):
        if how == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif how == "flipped":
            middle = len(content) // 2
            path.write_bytes(
                content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]
            )
        elif how == "emptied":
            path.write_bytes(b"")
        elif how == "a folder":
            path.unlink()
            path.mkdir()
    if how == "exchanged":
        for path, other in zip(code, [*code[1:], code[0]], strict=True):
            path.write_bytes(contents[kept.index(other)])
    assert run() == "5 5.5 2.5\n"
    assert run() == "5 5.5 2.5\n"
