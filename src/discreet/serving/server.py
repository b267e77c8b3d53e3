"""The server: where it listens, whom it lets in, and how many at once."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from discreet.errors import QueryError, name_closest
from discreet.serving.catalogue_tables import ANNOUNCED, SETTINGS
from discreet.serving.conversation import Conversation
from discreet.serving.messages import (
    LONGEST_STARTUP,
    Body,
    Refusal,
    break_off,
    pack,
    pack_int,
    pack_text,
    read_message,
    read_startup,
    read_text,
)
from discreet.serving.password import MECHANISM, Scram
from discreet.serving.served import ServedRelease

if TYPE_CHECKING:
    from discreet.release import Release

MOST_CLIENTS = 64
MOST_ARRIVING = 16
ARRIVING = 10.0
"""Clients at once, those who have not said who they are, and seconds that they have for it."""
ENCRYPTION, CANCEL = (80877103, 80877104), 80877102
"""What a client may ask before its first message; there is no encryption here."""
VERSION = 3


def serve(
    releases: dict[str, Release],
    host: str,
    port: int,
    password: str | None,
    tell: Callable[[int], None],
) -> None:
    """Answer clients of PostgreSQL until told to stop; ``tell`` gets the port once it listens."""
    if password is not None and not (password.isascii() and password.isprintable() and password):
        raise QueryError(
            "The password may have printable ASCII characters only.",
            hint="Set DISCREET_PASSWORD to another.",
        )
    for address in _find_addresses(host, port):
        if password is None and not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
            raise QueryError(
                f"Others could reach {host}, and nothing would keep them out.",
                hint="Set the environment variable DISCREET_PASSWORD, or leave out --host.",
            )
    for library in ("sqlglot", "asyncio"):  # they would tell what was asked, and who left
        logging.getLogger(library).setLevel(logging.CRITICAL)
    asyncio.run(_listen(releases, host, port, password, tell))


def _find_addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise QueryError(
            f"There is no address {host!r} here.", hint="Give 127.0.0.1, or a name of this machine."
        ) from error
    return [str(address[4][0]) for address in found]


async def _listen(
    releases: dict[str, Release],
    host: str,
    port: int,
    password: str | None,
    tell: Callable[[int], None],
) -> None:
    door = Door({name: ServedRelease(name, releases, one) for name, one in releases.items()},
                password)  # fmt: skip
    try:
        server = await asyncio.start_server(door.welcome, host, port)
    except OSError as error:
        door.close()
        raise QueryError(
            f"Port {port} of {host} cannot be listened on: {error.strerror or error}.",
            hint="Is something else there? Give another with --port.",
        ) from error
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    tell(server.sockets[0].getsockname()[1])
    try:
        await stopped.wait()
    finally:
        server.close()
        await door.send_away()
        door.close()


class Door:
    """Where clients come in: greeted, counted, led to the release they name."""

    def __init__(self, served: dict[str, ServedRelease], password: str | None) -> None:
        self._served, self._password = served, password
        self._clients: dict[int, tuple[bytes, Conversation]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._arriving = 0

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk with whoever comes, until they leave; what they do harms nobody else."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._talk(reader, writer)
        except Refusal as refusal:
            with suppress(OSError):
                writer.write(refusal.pack())
                await asyncio.wait_for(writer.drain(), ARRIVING)
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # gone, or sent away
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._arriving >= MOST_ARRIVING:
            raise _too_many()
        self._arriving += 1
        try:
            async with asyncio.timeout(ARRIVING):
                served = await self._greet(reader, writer)
        finally:
            self._arriving -= 1
        if served is None:
            return
        if len(self._clients) >= MOST_CLIENTS:
            raise _too_many()
        number, key = secrets.randbelow(2**31 - 1) + 1, secrets.token_bytes(4)
        conversation = Conversation(reader, writer, served)
        self._clients[number] = (key, conversation)
        try:
            writer.write(pack(b"K", pack_int(number), key))
            await conversation.run()
        finally:
            del self._clients[number]

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> ServedRelease | None:
        """Find out whom a client wants, and whether it may; nothing if it wants nobody."""
        for _ in range(3):
            body = await read_startup(reader)
            if body is None:
                return None
            code = body.int32()
            if code == CANCEL:
                self._cancel(body)
                return None
            if code not in ENCRYPTION:
                return await self._let_in(code, body, reader, writer)
            writer.write(b"N")
            await writer.drain()
        raise break_off("There is no encryption here.")

    async def _let_in(
        self, code: int, body: Body, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> ServedRelease:
        if code >> 16 != VERSION:
            raise break_off("Only version 3 of the protocol is spoken here.")
        said: dict[str, str] = {}
        while name := body.text():
            said[name] = body.text()
        unknown = [name for name in said if name.startswith("_pq_.")]
        if code & 0xFFFF or unknown:
            listed = [pack_text(name) for name in unknown]
            writer.write(pack(b"v", pack_int(0), pack_int(len(listed)), *listed))
        if self._password is not None:
            await _check_password(self._password, reader, writer)
        served = self._find(said.get("database") or said.get("user", ""))
        writer.write(pack(b"R", pack_int(0)))
        announced = {name: SETTINGS[name] for name in ANNOUNCED}
        announced |= {"application_name": "", "session_authorization": said.get("user", "")}
        for name, value in announced.items():
            writer.write(pack(b"S", pack_text(name), pack_text(value)))
        return served

    def _find(self, name: str) -> ServedRelease:
        if len(self._served) == 1:
            return next(iter(self._served.values()))
        if name not in self._served:
            hint = name_closest(name, [*self._served])
            raise Refusal("3D000", f"There is no release {name!r} here.", hint, fatal=True)
        return self._served[name]

    def _cancel(self, body: Body) -> None:
        number, key = body.int32(), body.take(4)
        known, conversation = self._clients.get(number, (b"", None))
        if conversation is not None and hmac.compare_digest(known, key):
            conversation.cancel()

    async def send_away(self) -> None:
        """End all conversations."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def close(self) -> None:
        """Let go of the releases."""
        for served in self._served.values():
            served.close()


def _too_many() -> Refusal:
    return Refusal("53300", "There are too many clients already.", "Try again later.", fatal=True)


async def _check_password(
    password: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    scram = Scram(password)
    writer.write(pack(b"R", pack_int(10), pack_text(MECHANISM), b"\0"))
    body = await _read_password(reader)
    if body.text() != MECHANISM:
        raise break_off("Passwords are proved by SCRAM-SHA-256 here.")
    writer.write(pack(b"R", pack_int(11), scram.challenge(read_text(body.take(body.int32())))))
    body = await _read_password(reader)
    writer.write(pack(b"R", pack_int(12), scram.finish(read_text(body.data))))


async def _read_password(reader: asyncio.StreamReader) -> Body:
    kind, body = await read_message(reader, LONGEST_STARTUP)
    if kind != b"p":
        raise break_off("A password is needed here.")
    return body
