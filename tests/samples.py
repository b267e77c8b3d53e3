"""Small tables that several tests use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import discreet as dc
from discreet.publishing.method import Method

EVERY_FORM: dict[str, Method] = {
    "generalization": dc.Generalization(dc.KAnonymity(3)),
    "republication": dc.Republication(dc.MInvariance(3)),
    "invariant-angelization": dc.InvariantAngelization(dc.MInvariance(3), k=4),
    "angelization": dc.Angelization(
        dc.FrequencyDiversity(2), k=3, marginals=[["age", "sex"], ["sex", "region"]]
    ),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity(2)),
    "slicing": dc.Slicing(dc.FrequencyDiversity(2)),
    "permutation": dc.Permutation(dc.KE(3, 2)),
    "rank-swapping": dc.RankSwapping(dc.KE(3, 2)),
    "perturbation": dc.Perturbation(dc.Proximity(1, 2), check="paper"),
}
"""Methods that make all forms, of tables such as the census with incomes."""


def microdata(frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[str]) -> dc.Microdata:
    schema = dc.Schema.infer(frame, quasi_identifiers=quasi, sensitive=sensitive)
    return dc.read(frame, schema)


def angel_table_1a() -> dc.Microdata:
    """ANGEL, Table 1a without the names."""
    frame = pl.DataFrame(
        {
            "age": [21, 23, 38, 40, 41, 43, 58, 60],
            "sex": list("MMFFMMFF"),
            "disease": ["pneumonia", "pneumonia", "bronchitis", "bronchitis"] * 2,
        }
    )
    return microdata(frame, ["age", "sex"], ["disease"])


def proximity_table_1a() -> dc.Microdata:
    """Proximity, Table 1a; zip codes in thousands."""
    frame = pl.DataFrame(
        {
            "age": [17, 19, 20, 24, 29, 34, 39, 45],
            "zip": [12, 13, 14, 16, 21, 24, 36, 39],
            "salary": [1000, 1010, 1020, 50000, 16000, 24000, 33000, 31000],
        }
    )
    return microdata(frame, ["age", "zip"], ["salary"])


def reseal(folder: Path) -> Path:
    """Make a manifest fit tables that were changed, as a forger would."""
    path = folder / "datapackage.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for resource in manifest["resources"]:
        content = (folder / resource["path"]).read_bytes()
        resource["bytes"] = len(content)
        resource["hash"] = f"sha256:{hashlib.sha256(content).hexdigest()}"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return folder
