"""Scale, measured: tables beyond memory, on one machine and on a cluster; and independent parts.

    python benchmarks/scale.py [--quick] [--json FILE]
        [--rows N …] [--base N] [--memory 4GB] [--spark-rows N] [--method-rows N]
        [--peer-rows N] [--peer-parts N …]

`discreet publish` runs as a process of its own, from Parquet to a release that was verified and
audited. From disk it is held against the same in memory, row for row, and its memory against the
limit it was given. On a cluster, of a master and two workers of one core on this machine, the
processor seconds of all processes are held against it: from nothing, and without those that master
and workers take to start, as a cluster runs already. What a session takes that does nothing, with
its driver and its executors, stands beside. What is published is compared as well: the same files
from disk, the same records from the cluster.

Independent parts are what one gets who splits a table and anonymizes each part by itself. Their
loss is held against that of the whole table, by the same measure.

No --rows leaves the disk out, --spark-rows 0 the cluster, --method-rows 0 methods other than
generalization, --peer-rows 0 the parts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import report
from discreet.auditing.in_parts import audit_files
from discreet.publishing.backends.disk import DiskBackend
from discreet.publishing.in_parts import publish_in_parts
from discreet.steward.beyond_memory import (
    GROUND,
    IN_MEMORY,
    choose_capacity,
    choose_records,
    read_memory,
    working_folder,
)
from discreet.steward.plan import Plan
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles

ATTRIBUTES, CODE = 9, 4
"""Eight quasi-identifiers and the income; bytes of a code."""
FILE = 5_000_000
"""Rows of a file."""
MAKE = f"""
import sys
from pathlib import Path
import polars as pl
from discreet.datasets.census import census_frame
rows, folder = int(sys.argv[1]), Path(sys.argv[2])
for number, start in enumerate(range(0, rows, {FILE})):
    frame = census_frame(min({FILE}, rows - start), seed=number).drop("occupation")
    enums = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum)]
    frame.with_columns(pl.col(enums).cast(pl.String)).write_parquet(
        folder / f"part-{{number:03}}.parquet", row_group_size=1 << 19)
for name, kind in frame.schema.items():
    role = "sensitive" if name == "income" else "quasi-identifier"
    print(f'[columns.{{name}}]\\nrole = "{{role}}"')
    print(f'type = "{{"integer" if kind.is_integer() else "category"}}"')
"""
PLAN = """
[source]
file = "table"
[method]
name = "generalization"
principles = [{ name = "k-anonymity", k = 10 }]
[release]
folder = "release"
"""
METHODS = {
    "angelization": 'name = "angelization"\nprinciples = [{ name = "frequency-diversity", l = 4 }]',
    "angelization with marginals": 'name = "angelization"\n'
    'marginals = [["age", "sex", "region", "workclass"], ["education", "marital"], ["sex"]]\n'
    'principles = [{ name = "frequency-diversity", l = 4 }]',
    "anatomy": 'name = "anatomy"\nprinciples = [{ name = "frequency-diversity", l = 4 }]',
    "permutation": 'name = "permutation"\nprinciples = [{ name = "k-e", k = 5, e = 2000 }]',
    "slicing": 'name = "slicing"\nprinciples = [{ name = "frequency-diversity", l = 4 }]',
    "proximity": 'name = "generalization"\n'
    'principles = [{ name = "proximity", epsilon = 1000, m = 5 }]',
    "full-domain": 'name = "full-domain"\nprinciples = [{ name = "k-anonymity", k = 10 }]',
}
"""Methods other than generalization, as plans ask for them."""
PUBLISH = "import sys; from discreet.cli import main; sys.argv[0] = 'discreet'; main()"
SESSION = """
import sys
from discreet.cluster import open_session
from discreet.steward.on_cluster import STARTED
with open_session(sys.argv[1], **STARTED) as session:
    assert session.range(1).count() == 1
"""
PLENTY = str(2**50)
"""More memory than a table needs: it is held there."""
OFTEN = 0.1
"""Seconds between two looks at the processes of a cluster."""


@dataclass
class Spent:
    """What a command took."""

    seconds: float
    user: float
    system: float
    peak: int
    """The most bytes that were resident, in one process."""

    @property
    def processor(self) -> float:
        """Seconds of all processors."""
        return self.user + self.system


@contextmanager
def census(n: int) -> Iterator[Path]:
    """Give a plan for a census in Parquet files, written by another process, and removed again."""
    with tempfile.TemporaryDirectory(prefix="scale") as name:
        folder = Path(name)
        (folder / "table").mkdir()
        command = [sys.executable, "-c", MAKE, str(n), str(folder / "table")]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        plan = folder / "census.plan.toml"
        plan.write_text(PLAN + made.stdout)
        yield plan


def publish(plan: Path, *options: str, **environment: str) -> Spent:
    """Run the command, and say what it took."""
    start = time.perf_counter()
    command = [sys.executable, "-c", PUBLISH, "publish", str(plan), "--overwrite", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                          env={**os.environ, **environment}) as process:  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"discreet publish ended with {process.returncode}.")
    spent = time.perf_counter() - start
    return Spent(spent, used.ru_utime, used.ru_stime, used.ru_maxrss * 1024)


def seal(plan: Path) -> dict[str, str]:
    """Give the hashes of all files of the release."""
    found = {}
    for path in sorted(plan.with_name("release").iterdir()):
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def choose_limit(n: int, memory: str) -> int:
    """Give the limit that is asked for, or less if memory would hold the table under that."""
    return min(read_memory(memory), IN_MEMORY * n * ATTRIBUTES * CODE - 1)


def warm(memory: str) -> None:
    """Have all compiled that is compiled, by tables that are done at once."""
    with census(200_000) as plan:
        publish(plan, "--memory", PLENTY)
        publish(plan, "--memory", str(choose_limit(200_000, memory)))


def measure_disk(sizes: list[int], base: int, memory: str) -> Iterator[dict[str, Any]]:
    """Publish in memory once, and from disk at all sizes."""
    sealed, per_row = {}, {}
    with census(base) as plan:
        held = publish(plan, "--memory", PLENTY)
        if base in sizes:
            sealed[base] = seal(plan)
    yield describe("in memory", base, held)
    for n in sizes:
        limit = choose_limit(n, memory)
        with census(n) as plan:
            spent = publish(plan, "--memory", str(limit))
            if n in sealed and seal(plan) != sealed[n]:
                raise SystemExit(f"{n} rows: another release from disk than in memory.")
        name = f"from disk, limit {limit / 2**30:.2f} GB"
        each, per_row[n] = base / n, spent.processor / n
        yield {**describe(f"{name}: processor, per row", n, spent), "against": "in memory",
               "ratio": each * spent.processor / held.processor}  # fmt: skip
        yield {"what": f"{name}: wall clock, per row", "n": n, "seconds": spent.seconds,
               "against": "in memory", "ratio": each * spent.seconds / held.seconds}  # fmt: skip
        yield {"what": f"{name}: peak memory", "n": n, "bytes": spent.peak,
               "against": "the limit, or what any run needs",
               "ratio": spent.peak / max(limit, GROUND)}  # fmt: skip
    if len(sizes) > 1:
        least, most = min(sizes), max(sizes)
        yield {"what": "from disk: processor, per row", "n": most,
               "against": f"from disk, {least:,} rows",
               "ratio": per_row[most] / per_row[least]}  # fmt: skip


def measure_methods(n: int, memory: str) -> Iterator[dict[str, Any]]:
    """Publish by the other methods in memory and from disk."""
    limit = choose_limit(n, memory)
    with census(n) as plan:
        text = plan.read_text()
        start, end = text.index("[method]"), text.index("[release]")
        for name, asked in METHODS.items():
            plan.write_text(f"{text[:start]}[method]\n{asked}\n{text[end:]}")
            held = publish(plan, "--memory", PLENTY)
            spent = publish(plan, "--memory", str(limit))
            yield {**describe(f"{name} from disk: processor", n, spent), "against": "in memory",
                   "ratio": spent.processor / held.processor}  # fmt: skip
            yield {"what": f"{name} from disk: peak memory", "n": n, "bytes": spent.peak,
                   "against": f"the limit of {max(limit, GROUND) / 2**30:.2f} GB",
                   "ratio": spent.peak / max(limit, GROUND)}  # fmt: skip


def describe(what: str, n: int, spent: Spent) -> dict[str, Any]:
    """Put what was spent into a line."""
    return {"what": what, "n": n, "seconds": spent.processor, "wall": spent.seconds,
            "user": spent.user, "system": spent.system, "bytes": spent.peak}  # fmt: skip


def measure_stages(n: int, memory: str) -> list[dict[str, Any]]:
    """Say what each stage takes from disk, once all is loaded that a process needs."""
    time_stages(min(n, 120_000), memory)
    spent, passes = time_stages(n, memory)
    whole = sum(spent.values())
    return [
        {"what": f"stage: {stage}", "n": n, "seconds": seconds, "passes": passes[stage],
         "per row": seconds / n, "against": f"all stages ({1e6 * seconds / n:.2f} µs per row)",
         "ratio": seconds / whole}
        for stage, seconds in spent.items()
    ]  # fmt: skip


def time_stages(n: int, memory: str) -> tuple[dict[str, float], dict[str, int]]:
    """Do what the command does from disk, in this process, stage by stage.

    A stage says what it did once it is done, so what was spent since the last word is its own.
    Gives processor seconds, and how often all rows were gone through.
    """
    spent: dict[str, float] = {}
    passes: dict[str, int] = {}
    last = time.process_time()

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.process_time()
        spent[stage] = spent.get(stage, 0) + now - last
        passes[stage] = passes.get(stage, 0) + (done == total)
        last = now

    with census(n) as path:
        plan = Plan.read(path)
        files = ParquetFiles(plan.source)
        facts = survey(files, plan.schema)
        tell("Facts", 1, 1)
        with working_folder(plan.folder) as work:
            limit = choose_limit(n, memory)
            capacity = choose_capacity(facts, limit)
            at_once = choose_records(facts, limit, plan.method.principle, 1)
            backend = DiskBackend(files, facts, work, capacity, capacity, plan.format, tell)
            publish_in_parts(
                backend, plan.method, plan.folder, format=plan.format, overwrite=True,
                approve=lambda draft: audit_files(
                    draft, files, facts, work, at_once=at_once, progress=tell)
                .require_kept(),
            )  # fmt: skip
        tell("Putting in place", 1, 1)
    return spent, passes


@dataclass
class Watch:
    """Looks at processes and all that they start, again and again, while they run."""

    roots: list[int]
    times: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Per process, by its number and when it began, the ticks it had when it was seen last."""
    peaks: dict[tuple[int, int], int] = field(default_factory=dict)

    def look(self) -> None:
        """Look once."""
        seen = {}
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                pid = int(entry.name)
                # the name of a command stands in brackets and may hold anything
                seen[pid] = (entry / "stat").read_text().rpartition(")")[2].split()
        mine, waiting = set(self.roots), list(self.roots)
        while waiting:
            parent = waiting.pop()
            children = [pid for pid, stat in seen.items() if int(stat[1]) == parent]
            waiting += [pid for pid in children if pid not in mine]
            mine.update(children)
        for pid in mine & set(seen) - {os.getpid()}:  # who looks does not count
            stat = seen[pid]
            own = pid, int(stat[19])
            self.times[own] = int(stat[11]), int(stat[12])
            with suppress(OSError, IndexError):
                status = Path(f"/proc/{pid}/status").read_text()
                self.peaks[own] = 1024 * int(status.partition("VmHWM:")[2].split()[0])

    @property
    def seconds(self) -> tuple[float, float]:
        """User and system seconds of all that was seen."""
        tick = os.sysconf("SC_CLK_TCK")
        user, system = np.array(list(self.times.values())).reshape(-1, 2).sum(axis=0) / tick
        return float(user), float(system)

    def take(self, user: float, system: float, seconds: float) -> Spent:
        """Say what was spent since so much had been."""
        self.look()
        now = self.seconds
        return Spent(seconds, now[0] - user, now[1] - system, max(self.peaks.values()))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look until this is over."""
        over = threading.Event()

        def go_on() -> None:
            while not over.wait(OFTEN):
                self.look()

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.look()


def start_session(address: str) -> float:
    """Have a driver and executors started for one row, by a process of its own; give seconds."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", SESSION, address], check=True)
    return time.perf_counter() - start


def measure_cluster(n: int) -> list[dict[str, Any]]:
    """Publish in memory and on a cluster of two workers."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    import cluster as clusters

    clusters.QUICK = "-XX:+UseSerialGC"  # not the one for work that is soon over
    with census(n) as plan, tempfile.TemporaryDirectory(
        prefix="spark", ignore_cleanup_errors=True
    ) as name:  # fmt: skip
        publish(plan, "--memory", PLENTY)
        held = publish(plan, "--memory", PLENTY)
        records = read_records(plan)
        folder = Path(name)
        log, settings = folder / "events", folder / "settings"
        log.mkdir()
        settings.mkdir()
        logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": log.as_uri(),
                  "spark.eventLog.compress": "false"}  # fmt: skip
        (settings / "spark-defaults.conf").write_text(
            "".join(f"{key} {value}\n" for key, value in logged.items())
        )
        running = clusters.Cluster(folder)
        try:
            daemons = [d.process.pid for d in (running.master, *running.workers)]
            watch = Watch([*daemons, os.getpid()])
            watch.look()
            idle = watch.seconds
            with watch.watching():
                empty = start_session(running.address)
                opened = watch.take(*idle, empty)
                before = watch.seconds
                spent = publish(plan, "--engine", running.address, SPARK_CONF_DIR=str(settings))
            published = watch.take(*before, spent.seconds)
        finally:
            running.stop()
        if not records.equals(read_records(plan)):
            raise SystemExit("Other records from the cluster than in memory.")
        moved = sum_shuffles(log)
    started = Spent(0.0, *idle, 0)
    all_of_it = Spent(spent.seconds, published.user + started.user,
                      published.system + started.system, published.peak)  # fmt: skip
    codes = n * ATTRIBUTES * CODE
    return [
        {**describe("in memory: processor", n, held)},
        {**describe("on a cluster: processor, all processes, from nothing", n, all_of_it),
         "against": "in memory", "ratio": all_of_it.processor / held.processor},
        {**describe("on a cluster: processor, without starting master and workers", n, published),
         "against": "in memory", "ratio": published.processor / held.processor},
        {**describe("on a cluster: starting master and workers", n, started),
         "against": "in memory", "ratio": started.processor / held.processor},
        {**describe("on a cluster: a session that asks for one row", n, opened),
         "against": "in memory", "ratio": opened.processor / held.processor},
        {"what": "on a cluster: wall clock", "n": n, "seconds": spent.seconds,
         "against": "in memory", "ratio": spent.seconds / held.seconds},
        {"what": "on a cluster: peak memory of a process", "n": n, "bytes": published.peak,
         "against": "size of the codes", "ratio": published.peak / codes},
        {"what": "on a cluster: bytes shuffled", "n": n, "bytes": moved["shuffled"],
         "per row": moved["shuffled"] / n, "against": "size of the codes",
         "ratio": moved["shuffled"] / codes},
        {"what": "on a cluster: bytes to the driver", "n": n, "bytes": moved["results"],
         "per row": moved["results"] / n, "against": "size of the codes",
         "ratio": moved["results"] / codes},
    ]  # fmt: skip


def read_records(plan: Path) -> pl.DataFrame:
    """Read the published records, from as many files as there are, in their order."""
    files = sorted(plan.with_name("release").glob("generalized*.parquet"))
    return pl.concat(pl.read_parquet(file) for file in files)


def sum_shuffles(log: Path) -> dict[str, int]:
    """Add up, from what Spark logs of its tasks, the bytes that went from worker to worker."""
    moved = {"shuffled": 0, "results": 0}
    for file in (path for path in log.rglob("*") if path.is_file()):
        for line in file.read_text().splitlines():
            if line.startswith('{"Event":"SparkListenerTaskEnd"'):
                metrics = json.loads(line).get("Task Metrics", {})
                written = metrics.get("Shuffle Write Metrics", {})
                moved["shuffled"] += written.get("Shuffle Bytes Written", 0)
                moved["results"] += metrics.get("Result Size", 0)
    return moved


def measure_parts(n: int, numbers: list[int]) -> list[dict[str, Any]]:
    """Anonymize parts of a table by themselves, and hold their loss against that of the whole."""
    tables = {
        "Adult": dc.datasets.adult(sensitive="occupation"),
        "census": dc.datasets.census(n, sensitive="income"),
    }
    found: list[dict[str, Any]] = []
    for title, table in tables.items():
        data = table if table.n <= n else table.head(n)
        first = data.codes[data.quasi_identifiers[0]]
        orders = {"in the order of the file": np.arange(data.n),
                  f"by {data.quasi_identifiers[0]}": np.argsort(first, kind="stable")}  # fmt: skip
        for k in (10, 100):
            method = dc.Generalization(dc.KAnonymity(k))
            whole = lose([data], method, data)
            found.append({"what": f"{title}, k = {k}: the whole", "n": data.n, "ncp": whole})
            for how, order in orders.items():
                for number in numbers:
                    parts = [data.taken(rows).narrowed()
                             for rows in np.array_split(order, number)]  # fmt: skip
                    ncp = lose(parts, method, data)
                    found.append({"what": f"{title}, k = {k}: {number} parts {how}", "n": data.n,
                                  "ncp": ncp, "against": "the whole",
                                  "ratio": ncp / whole})  # fmt: skip
    return found


def lose(parts: list[dc.Microdata], method: dc.Generalization, data: dc.Microdata) -> float:
    """Publish parts by themselves, and measure what is lost against the domains of the whole."""
    losses = [dc.evaluate.measure_loss(dc.publish(part, method), data).ncp for part in parts]
    return float(np.average(losses, weights=[part.n for part in parts]))


def measure(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure all that was chosen; what needs this process to be small comes first."""
    if chosen.rows and not chosen.quick:
        warm(chosen.memory)
    if chosen.rows:
        yield from measure_disk(chosen.rows, chosen.base, chosen.memory)
    if chosen.spark_rows:
        yield from measure_cluster(chosen.spark_rows)
    if chosen.rows:
        yield from measure_stages(min(chosen.rows), chosen.memory)
    if chosen.method_rows:
        yield from measure_methods(chosen.method_rows, chosen.memory)
    if chosen.peer_rows:
        yield from measure_parts(chosen.peer_rows, chosen.peer_parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[5_000_000, 10_000_000, 50_000_000],
                        help="rows that are published from disk")  # fmt: skip
    parser.add_argument("--base", type=int, default=10_000_000,
                        help="rows that are published in memory")  # fmt: skip
    parser.add_argument("--memory", default="4GB", help="the limit, where it is below the need")
    parser.add_argument("--spark-rows", type=int, default=5_000_000,
                        help="rows that are published on a cluster")  # fmt: skip
    parser.add_argument("--method-rows", type=int, default=2_000_000,
                        help="rows that other methods than generalization publish")  # fmt: skip
    parser.add_argument("--peer-rows", type=int, default=200_000,
                        help="rows of tables that are split into parts")  # fmt: skip
    parser.add_argument("--peer-parts", type=int, nargs="+", default=[20, 100],
                        help="into how many")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small sizes, no cluster")
    parser.add_argument("--json", type=Path, help="write the figures here")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rows, chosen.base, chosen.spark_rows = [30_000], 30_000, 0
        chosen.method_rows, chosen.peer_rows, chosen.peer_parts = 0, 2_000, [4]
    report(measure(chosen), chosen.json)
