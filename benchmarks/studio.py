"""The studio, measured: its first page, a large table dropped on it, a role changed, its memory.

python benchmarks/studio.py [--quick] [--json FILE]
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterable
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import run

PROGRAM = "from discreet.cli import main; main()"
SEEN = re.compile(r'id="seen" name="seen" value="([^"]*)"')
PROOF = re.compile(r'"X-Discreet-Proof": "([^"]*)"')


class Visitor:
    """A browser, as far as it asks."""

    def __init__(self, folder: Path) -> None:
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "studio", str(folder), "--no-browser"],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert self.process.stdout is not None
        address = re.search(r"http://\S+", self.process.stdout.readline())
        assert address is not None
        self.site = address[0].split("/?")[0]
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.page = self.get(address[0].removeprefix(self.site))
        self.first = time.perf_counter() - self.begun
        found = PROOF.search(self.page.replace("&#34;", '"'))
        assert found is not None
        self._proof = found[1]

    def get(self, path: str) -> str:
        with self._opener.open(self.site + path) as answer:
            return answer.read().decode()

    def send(self, path: str, body: bytes, method: str = "POST") -> str:
        headers = {"X-Discreet-Proof": self._proof, "HX-Request": "true"}
        asked = urllib.request.Request(self.site + path, body, headers, method=method)
        with self._opener.open(asked) as answer:
            return answer.read().decode()

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def measure_memory(pid: int) -> int:
    """Give the bytes of memory that a process has of its own or shares."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) * 1024


def measure(quick: bool) -> Iterable[dict[str, Any]]:
    """Measure what the studio promises of itself; aims are said beside each figure."""
    n, times = (5_000, 1) if quick else (200_000, 5)
    rng = np.random.default_rng(1)
    people = dc.datasets.census(n).to_polars()
    table = people.select(people.columns[:9]).with_columns(
        id=pl.Series(np.arange(n)),
        born=pl.Series(rng.integers(0, 20_000, n)).cast(pl.Int32).cast(pl.Date),
        pay=pl.Series(rng.integers(100, 900_000, n)),
    )
    content = table.write_csv().encode()
    with tempfile.TemporaryDirectory() as name:
        firsts = []
        for _ in range(times):
            visitor = Visitor(Path(name))
            firsts.append(visitor.first)
            visitor.end()
        yield {"what": "first page after start (aim: 1 s)", "seconds": float(np.median(firsts))}
        visitor = Visitor(Path(name))
        try:
            visitor.get("/open/files")  # as the first page does
            start = time.perf_counter()
            visitor.send("/open/dropped/table.csv", content, "PUT")
            page = visitor.get("/open")
            passed = time.perf_counter() - start
            assert "quasi-identifier" in page
            yield {"what": "roles page after the drop (aim: 3 s)", "n": n, "seconds": passed}
            spans = []
            for turn in range(times):
                role = "other" if turn % 2 == 0 else "quasi-identifier"
                seen = SEEN.search(page)
                assert seen is not None
                asked = {"column": "region", "role": role, "seen": seen[1]}
                start = time.perf_counter()
                page = visitor.send("/open/roles", urllib.parse.urlencode(asked).encode())
                spans.append(time.perf_counter() - start)
            yield {"what": "role changed to who is alone (aim: 0.5 s)", "n": n,
                   "seconds": float(np.median(spans))}  # fmt: skip
            bare = subprocess.Popen(
                [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
            )
            time.sleep(1)  # until it has loaded
            above = measure_memory(visitor.process.pid) - measure_memory(bare.pid)
            bare.communicate()
            yield {"what": f"server above the interpreter: {above / 1e6:.0f} MB (aim: 200 MB)"}
        finally:
            visitor.end()


if __name__ == "__main__":
    run(__doc__, measure)
