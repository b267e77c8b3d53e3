"""The server as a process, and clients of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import psycopg

from commands import COMMAND


class Serving:
    """A process of the command, and the port where it listens."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*COMMAND, "serve", *arguments, "--port", "0"],
            cwd=folder, env={**os.environ, **settings}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert self.process.stdout is not None
        said = []
        while not said or said[-1].startswith("psql"):
            said.append(self.process.stdout.readline())
            assert said[-1], "it ended"
        self.port = int(said[0].split()[4])

    def connect(self, database: str = "people", **settings: Any) -> psycopg.Connection:
        address = {"host": "127.0.0.1", "port": self.port, "user": "analyst", "dbname": database}
        return psycopg.connect(**{"autocommit": True, **address, **settings})

    def send(self, data: bytes) -> bytes:
        """Send bytes to it, whatever they are, and read what it says until it has no more."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as raw:
            raw.sendall(data)
            raw.shutdown(socket.SHUT_WR)
            try:
                while got := raw.recv(65536):
                    answer += got
            except ConnectionResetError:
                pass
        return answer

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=60)
        return said
