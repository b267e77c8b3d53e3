"""The protocol's messages as bytes: read with every length checked, and written."""

from __future__ import annotations

from asyncio import IncompleteReadError, StreamReader
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import visible

LONGEST_STARTUP = 10_000
LONGEST_MESSAGE = 1 << 18
"""Bytes that a client may send at once; more would be memory that a stranger takes."""


class Refusal(Exception):
    """What a client is told instead of an answer; after a fatal one it is left."""

    def __init__(
        self, code: str, message: str, hint: str | None = None, *, fatal: bool = False
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.fatal = code, message, hint, fatal

    def pack(self) -> bytes:
        """Write it as an ErrorResponse."""
        severity = "FATAL" if self.fatal else "ERROR"
        fields = {"S": severity, "V": severity, "C": self.code, "M": self.message}
        if self.hint:
            fields["H"] = self.hint
        told = (key.encode() + pack_text(visible(text)) for key, text in fields.items())
        return pack(b"E", *told, b"\0")


def break_off(message: str) -> Refusal:
    """Make what is told to a client that does not keep to the protocol."""
    return Refusal("08P01", message, fatal=True)


def pack(kind: bytes, *parts: bytes) -> bytes:
    """Write a message: its kind, its length, and what it says."""
    body = b"".join(parts)
    return kind + pack_int(len(body) + 4) + body


def pack_int(number: int, size: int = 4) -> bytes:
    """Write a number, as the protocol has them: signed, the highest byte first."""
    return number.to_bytes(size, "big", signed=True)


def pack_text(text: str) -> bytes:
    """Write a text with the zero that ends it; none can be inside."""
    return text.encode("utf-8", "replace").replace(b"\0", b"") + b"\0"


def pack_cells(cells: Sequence[bytes | None]) -> bytes:
    """Write a row."""
    parts = [pack_int(-1) if cell is None else pack_int(len(cell)) + cell for cell in cells]
    return pack(b"D", pack_int(len(cells), 2), *parts)


@dataclass
class Body:
    """What a message says, read from its start to its end."""

    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        """Read so many bytes."""
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise break_off("A message ends too early.")
        self.at, taken = end, self.data[self.at : end]
        return taken

    def int16(self) -> int:
        """Read a count, which is never negative."""
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        """Read a number."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def text(self) -> str:
        """Read a text up to the zero that ends it."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise break_off("A text in a message has no end.")
        taken = self.take(end - self.at)
        self.at += 1
        return read_text(taken)


def read_text(data: bytes) -> str:
    """Read bytes as the only encoding that is spoken here."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refusal(
            "22021", "A text is not UTF-8.", "Set the client's encoding to UTF8."
        ) from None


async def read_startup(reader: StreamReader) -> Body | None:
    """Read the first message of a connection, which has no kind; nothing if nobody is there."""
    try:
        length = int.from_bytes(await reader.readexactly(4), "big")
        if not 8 <= length <= LONGEST_STARTUP:
            raise break_off("This is a server for clients of PostgreSQL.")
        return Body(await reader.readexactly(length - 4))
    except IncompleteReadError:
        return None


async def read_message(reader: StreamReader, longest: int = LONGEST_MESSAGE) -> tuple[bytes, Body]:
    """Read a message; one that a client breaks off is its goodbye."""
    try:
        head = await reader.readexactly(5)
        length = int.from_bytes(head[1:], "big")
        if not 4 <= length <= longest:
            raise Refusal(
                "54000", f"A message may have {longest:,} bytes, not {length:,}.", fatal=True
            )
        return head[:1], Body(await reader.readexactly(length - 4))
    except IncompleteReadError:
        return b"X", Body(b"")
