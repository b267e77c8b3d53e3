"""A real cluster of Spark: a master and workers as processes of their own, on this machine."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pyspark

HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Start in half the time; what takes long anyway would take longer."""
PATIENCE = 180
"""Seconds that a process has to get ready, on a machine that is busy."""


def _die_with_parent() -> None:
    """Ask Linux to end this process when the tests are ended, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Daemon:
    """A process of Spark, and whatever it starts, with its log in a file."""

    def __init__(self, folder: Path, name: str, *command: str) -> None:
        self.log = folder / f"{name}.log"
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_CONF_DIR": str(folder),  # nothing that a user has set
            "SPARK_LOCAL_DIRS": str(folder),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "JAVA_TOOL_OPTIONS": f"{QUICK} -Djava.io.tmpdir={folder}",
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  (it takes no lock)
            )  # fmt: skip

    def wait_for(self, pattern: str, times: int = 1) -> str:
        """Wait until it has said something so many times; give what was said last."""
        end = monotonic() + PATIENCE
        while monotonic() < end and self.process.poll() is None:
            found = re.findall(pattern, self.log.read_text(errors="replace"))
            if len(found) >= times:
                return str(found[-1])
            sleep(0.1)
        raise TimeoutError(f"{pattern!r} was not said in:\n{self.log.read_text(errors='replace')}")

    def kill(self) -> None:
        """End it and all that it started, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Cluster:
    """A standalone master at ``address``, and two ``workers`` of one core and a gigabyte each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[Daemon] = []
        self.master = self._start(
            "master", "master.Master", "--host", HOST, "--port", "0", "--webui-port", "0"
        )
        try:
            self.address = self.master.wait_for(r"Starting Spark master at (spark://\S+)")
            self.add_workers(2)
        except BaseException:
            self.stop()
            raise

    def add_workers(self, number: int = 1) -> None:
        """Start workers, and wait until the master knows them."""
        for place in range(len(self.workers), len(self.workers) + number):
            worker = self._start(
                f"worker-{place}", "worker.Worker", "--host", HOST, "--webui-port", "0",
                "--cores", "1", "--memory", "1g",
                "--work-dir", str(self.folder / f"work-{place}"), self.address,
            )  # fmt: skip
            self.workers.append(worker)
        self.master.wait_for("Registering worker", len(self.workers))

    def stop(self) -> None:
        """End everything."""
        for daemon in (*self.workers, self.master):
            daemon.kill()

    def _start(self, name: str, what: str, *arguments: str) -> Daemon:
        script = str(HOME / "bin" / "spark-class")
        return Daemon(self.folder, name, script, f"org.apache.spark.deploy.{what}", *arguments)


def start_connect_server(folder: Path) -> tuple[Daemon, str]:
    """Start a server of Spark Connect on one core; give it and its address."""
    settings = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
    }
    options = [part for item in settings.items() for part in ("--conf", "=".join(item))]
    server = Daemon(
        folder, "connect", str(HOME / "bin" / "spark-submit"), "--master", "local[1]",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", *options,
        "spark-internal",
    )  # fmt: skip
    try:
        return server, "sc://" + server.wait_for(r"Connect server started at: (\S+)")
    except BaseException:
        server.kill()
        raise
