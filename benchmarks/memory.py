"""Memory, measured: the most that `discreet publish PLAN` holds, as a process of its own.

    python benchmarks/memory.py [--rows N] [--json FILE]

From Parquet to a release that was read back, verified and audited. It is held against the codes:
rows times attributes times four bytes. Kernels are compiled before.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from clock import report

ATTRIBUTES, CODE = 9, 4
"""Eight quasi-identifiers and the occupation; bytes of a code."""
MAKE = """
import sys
import polars as pl
from discreet.datasets import census_frame
frame = census_frame(int(sys.argv[1])).drop("income")
enums = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum)]
frame.with_columns(pl.col(enums).cast(pl.String)).write_parquet(sys.argv[2])
for name, kind in frame.schema.items():
    role = "sensitive" if name == "occupation" else "quasi-identifier"
    print(f'[columns.{name}]\\nrole = "{role}"')
    print(f'type = "{"integer" if kind.is_integer() else "category"}"')
"""
PLAN = """
[source]
file = "census.parquet"
[method]
name = "generalization"
principles = [{ name = "k-anonymity", k = 10 }, { name = "frequency-diversity", l = 4 }]
"""
PUBLISH = "import sys; from discreet.cli import main; sys.argv[0] = 'discreet'; main()"


def write_plan(folder: Path, n: int) -> Path:
    """Write a census and a plan for it, in another process: what is large here is its child's."""
    table, plan = folder / "census.parquet", folder / "census.plan.toml"
    made = subprocess.run(
        [sys.executable, "-c", MAKE, str(n), str(table)], capture_output=True, text=True, check=True
    )
    plan.write_text(PLAN + made.stdout)
    return plan


def publish(plan: Path) -> tuple[float, int]:
    """Run the command; give its seconds, and the most bytes that were resident."""
    start = time.perf_counter()
    command = [sys.executable, "-c", PUBLISH, "publish", str(plan), "--overwrite"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"discreet publish ended with {process.returncode}.")
    return time.perf_counter() - start, used.ru_maxrss * 1024


def measure(n: int) -> list[dict[str, Any]]:
    """Publish a census of so many people, after a small one."""
    with tempfile.TemporaryDirectory() as folder:
        publish(write_plan(Path(folder), 10_000))
        seconds, peak = publish(write_plan(Path(folder), n))
    return [{"what": "discreet publish, peak resident memory", "n": n, "seconds": seconds,
             "bytes": peak, "against": "size of the codes",
             "ratio": peak / (n * ATTRIBUTES * CODE)}]  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="people in the census")
    parser.add_argument("--json", type=Path, help="write the figures here")
    chosen = parser.parse_args()
    report(measure(chosen.rows), chosen.json)
