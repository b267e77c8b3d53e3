"""What the project says of itself in several places is the same in all of them."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOR_MAKERS = {"all", "bench", "dev", "docs"}
VENDOR = Path("src/discreet/studio/static/vendor")


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def test_the_extra_all_has_all_that_users_may_want() -> None:
    extras = read("pyproject.toml")["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = re.fullmatch(r"discreet\[(.*)\]", everything)
    assert named is not None
    assert set(named[1].split(",")) == extras.keys() - FOR_MAKERS


def test_libraries_of_others_are_named_with_their_licences() -> None:
    said = (ROOT / VENDOR / "README.md").read_text(encoding="utf-8")
    licences = {path.stem for path in (ROOT / "LICENSES").iterdir()}
    everything, *others = read("REUSE.toml")["annotations"]
    assert everything["path"] == "**"
    for script in sorted((ROOT / VENDOR).glob("*.js")):
        place = str(VENDOR / script.name)
        (found,) = (a for a in others if any(fnmatch(place, p) for p in _list(a["path"])))
        licence = found["SPDX-License-Identifier"]
        assert licence in licences
        assert re.search(rf"`{re.escape(script.name)}`.*\| {re.escape(licence)} \|", said)
    terms = read("pyproject.toml")["project"]["license"]
    assert set(terms.split(" AND ")) == licences


def _list(paths: str | list[str]) -> list[str]:
    return [paths] if isinstance(paths, str) else paths


def test_who_cites_cites_this_version() -> None:
    version = read("pyproject.toml")["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_types_are_told_to_who_imports_it() -> None:
    assert (ROOT / "src/discreet/py.typed").is_file()
