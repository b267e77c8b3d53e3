"""A conversation with one client: what it sends, and what it is told."""

from __future__ import annotations

import asyncio
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from discreet.serving.catalogue import show_setting
from discreet.serving.catalogue_tables import SETTINGS
from discreet.serving.messages import (
    Body,
    Refusal,
    break_off,
    pack,
    pack_cells,
    pack_int,
    pack_text,
    read_message,
)
from discreet.serving.served import Answered, ServedRelease
from discreet.serving.statements import ClientStatement, split
from discreet.serving.values import (
    TYPES,
    Columns,
    Parameter,
    conform,
    read_columns,
    read_parameter,
    write_value,
)

MOST_KEPT = 1 << 22
MOST_PORTALS = 64
MOST_PARAMETERS = 10_000
"""Bytes of statements that one client may prepare, answers that it may leave open, and what a
statement may be given."""
FLUSHED = 1 << 16

SESSION_COMMANDS = {
    "SAVEPOINT": "SAVEPOINT", "RELEASE": "RELEASE", "SET": "SET", "RESET": "RESET",
    "CLOSE": "CLOSE CURSOR ALL", "UNLISTEN": "UNLISTEN",
}  # fmt: skip
"""What clients say by the way, and the word that answers it; there is nothing to be set."""


@dataclass
class PreparedStatement:
    """A statement under a name, and what was told of it."""

    statement: ClientStatement | None
    types: list[int]
    columns: Columns | None = None


@dataclass
class Reply:
    """What a statement gives: rows, or only the word that it is done."""

    tag: str
    columns: Columns = field(default_factory=list)
    frame: pl.DataFrame | None = None


@dataclass
class Portal:
    """A statement with its parameters; its answer once it was asked, and how much of it is sent."""

    prepared: PreparedStatement
    values: list[Parameter]
    formats: list[int]
    reply: Reply | None = None
    sent: int = 0


class Conversation:
    """One client, from its welcome to its goodbye."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, served: ServedRelease
    ) -> None:
        self._reader, self._writer, self._served = reader, writer, served
        self._statements: dict[str, PreparedStatement] = {}
        self._portals: dict[str, Portal] = {}
        self._state = b"I"
        self._skipping = False
        self._work: asyncio.Task[Answered] | None = None

    def cancel(self) -> None:
        """Break off what is being asked."""
        if self._work is not None:
            self._work.cancel()

    async def run(self) -> None:
        """Answer until the client says goodbye."""
        self._ready()
        while True:
            await self._writer.drain()
            kind, body = await read_message(self._reader)
            if kind == b"X":
                return
            if self._skipping and kind not in b"SdcfH":
                continue
            try:
                await self._handle(kind, body)
            except OSError:
                return  # gone
            except Refusal as refusal:
                self._refuse(refusal, kind)
            except Exception as fault:
                self._refuse(_confess(fault), kind)

    def _refuse(self, refusal: Refusal, kind: bytes) -> None:
        if refusal.fatal:
            raise refusal
        if self._state == b"T":
            self._state = b"E"
        self._writer.write(refusal.pack())
        if kind in b"QF":
            self._ready()
        else:  # all up to the next Sync was sent in the belief that this would work
            self._skipping = True

    async def _handle(self, kind: bytes, body: Body) -> None:
        handlers: dict[bytes, Callable[[Body], object]] = {
            b"P": self._parse, b"B": self._bind, b"D": self._describe, b"E": self._execute,
            b"Q": self._query, b"C": self._close, b"S": self._sync,
        }  # fmt: skip
        if kind in handlers:
            outcome = handlers[kind](body)
            if asyncio.iscoroutine(outcome):
                await outcome
        elif kind == b"F":
            raise Refusal("0A000", "Functions are not called like this.", "Ask in SQL.")
        elif kind not in b"Hdcf":  # flushed anyway; what is left of a COPY counts for nothing
            raise break_off("A message of this kind is not known here.")

    def _ready(self) -> None:
        if self._state == b"I":
            self._portals.clear()
        self._writer.write(pack(b"Z", self._state))

    # plain questions

    async def _query(self, body: Body) -> None:
        text = body.text()
        empty = True
        for statement in split(text):
            empty = False
            reply = await self._answer(PreparedStatement(statement, []), [])
            if reply.frame is not None:
                self._send_description(reply.columns, [])
            await self._send_rows(reply, [], 0, None)
            self._send_tag(reply.tag)
        if empty:
            self._writer.write(pack(b"I"))
        self._ready()

    # questions in steps

    async def _parse(self, body: Body) -> None:
        name, text = body.text(), body.text()
        declared = [body.int32() for _ in range(body.int16())]
        statements = [*split(text)]
        if len(statements) > 1:
            raise Refusal("42601", "Several statements cannot be prepared at once.")
        if name and name in self._statements:
            raise Refusal("42P05", "There is a prepared statement of this name already.")
        kept = sum(len(one.statement.text) + 100 for one in self._statements.values()
                   if one.statement is not None)  # fmt: skip
        if kept + len(text) > MOST_KEPT or len(self._statements) > 1000:
            raise Refusal("54000", "Too much is prepared.", "Close statements.")
        statement = statements[0] if statements else None
        if statement is not None and statement.parameters > MOST_PARAMETERS:
            raise Refusal("54000", f"A statement may have {MOST_PARAMETERS:,} parameters.")
        found = await self._served.find_types(statement) if statement is not None else []
        declared += [0] * (len(found) - len(declared))
        types = [oid or (found[i].oid if i < len(found) else 25) for i, oid in enumerate(declared)]
        self._statements[name] = PreparedStatement(statement, types)
        self._writer.write(pack(b"1"))

    def _bind(self, body: Body) -> None:
        name, prepared = body.text(), self._find_statement(body.text())
        formats = [body.int16() for _ in range(body.int16())]
        count = body.int16()
        if count != len(prepared.types) or len(formats) not in (0, 1, count):
            raise Refusal("08P01", f"There are {len(prepared.types)} parameters, not {count}.")
        values = []
        for i, oid in enumerate(prepared.types):
            length = body.int32()
            data = None if length == -1 else body.take(length)
            values.append(read_parameter(data, oid, _pick_format(formats, i) == 1))
        shown = [body.int16() for _ in range(body.int16())]
        if name and name in self._portals:
            raise Refusal("42P03", "There is a portal of this name already.")
        if len(self._portals) >= MOST_PORTALS:
            raise Refusal("54000", "Too many portals are open.", "Close some.")
        self._portals[name] = Portal(prepared, values, shown)
        self._writer.write(pack(b"2"))

    async def _describe(self, body: Body) -> None:
        kind, name = body.take(1), body.text()
        if kind == b"P":
            portal = self._find_portal(name)
            reply, formats = await self._reply(portal), portal.formats
        else:
            prepared, formats = self._find_statement(name), []
            listed = [pack_int(oid) for oid in prepared.types]
            values = [TYPES[oid].sample if oid in TYPES else None for oid in prepared.types]
            reply = await self._answer(prepared, values, dry=True)
            prepared.columns = reply.columns if reply.frame is not None else None
            self._writer.write(pack(b"t", pack_int(len(listed), 2), *listed))
        if reply.frame is None:
            self._writer.write(pack(b"n"))
        else:
            self._send_description(reply.columns, formats)

    async def _execute(self, body: Body) -> None:
        portal, most = self._find_portal(body.text()), body.int32()
        if portal.prepared.statement is None:
            self._writer.write(pack(b"I"))
            return
        reply = await self._reply(portal)
        end = portal.sent + most if most > 0 else None
        portal.sent += await self._send_rows(reply, portal.formats, portal.sent, end)
        if reply.frame is not None and portal.sent < reply.frame.height:
            self._writer.write(pack(b"s"))
        else:
            self._send_tag(reply.tag)

    def _close(self, body: Body) -> None:
        kind, name = body.take(1), body.text()
        (self._statements if kind == b"S" else self._portals).pop(name, None)  # type: ignore[attr-defined]
        self._writer.write(pack(b"3"))

    def _sync(self, _: Body) -> None:
        self._skipping = False
        self._ready()

    def _find_statement(self, name: str) -> PreparedStatement:
        if name not in self._statements:
            raise Refusal("26000", "There is no prepared statement of this name.")
        return self._statements[name]

    def _find_portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise Refusal("34000", "There is no portal of this name.")
        return self._portals[name]

    # answers

    async def _reply(self, portal: Portal) -> Reply:
        if portal.reply is None:
            portal.reply = await self._answer(portal.prepared, portal.values)
        return portal.reply

    async def _answer(
        self, prepared: PreparedStatement, values: Sequence[Parameter], dry: bool = False
    ) -> Reply:
        statement = prepared.statement
        if statement is None:
            return Reply("")
        words = statement.words
        if self._state == b"E" and words[:1] not in (["ROLLBACK"], ["ABORT"], ["COMMIT"], ["END"]):
            raise Refusal(
                "25P02",
                "A statement of this transaction failed: none is answered until it ends.",
                "Say ROLLBACK.",
            )
        command = self._command(statement, dry)
        if command is not None:
            return command
        self._work = asyncio.create_task(self._served.answer(statement, values))
        try:
            await asyncio.wait({self._work})
            if self._work.cancelled():
                raise Refusal("57014", "The question was cancelled.")
            columns, frame = read_columns(*self._work.result())
        finally:
            self._work.cancel()
            self._work = None
        if prepared.columns is not None:
            frame = conform(columns, frame, prepared.columns)
            columns = prepared.columns
        return Reply(f"SELECT {frame.height}", columns, frame)

    def _command(self, statement: ClientStatement, dry: bool) -> Reply | None:
        """Answer what is not a question; nothing if it is one."""
        words = statement.words
        first = words[0] if words else ""
        if first in ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT"):
            return self._change_transaction(words, dry)
        if first in ("DEALLOCATE", "DISCARD"):
            if not dry:
                self._forget(statement)
            return Reply("DISCARD ALL" if first == "DISCARD" else "DEALLOCATE")
        if first == "SHOW":
            return _show(statement.text.split(None, 1)[-1])
        if (
            first == "SET"
            and re.search(r"client_encoding|\bnames\b", statement.bare, re.I)
            and (not re.search(r"utf-?8|unicode|default", statement.text, re.I))
        ):
            raise Refusal("22023", "The encoding is UTF8 here, and no other.")
        return Reply(SESSION_COMMANDS[first]) if first in SESSION_COMMANDS else None

    def _change_transaction(self, words: list[str], dry: bool) -> Reply:
        if words[0] in ("BEGIN", "START"):
            state, tag = b"T", "BEGIN" if words[0] == "BEGIN" else "START TRANSACTION"
        elif "TO" in words[:3]:  # a savepoint
            state, tag = b"I" if self._state == b"I" else b"T", "ROLLBACK"
        else:
            failed = self._state == b"E" or words[0] in ("ROLLBACK", "ABORT")
            state, tag = b"I", "ROLLBACK" if failed else "COMMIT"
        if not dry:
            self._state = state
        return Reply(tag)

    def _forget(self, statement: ClientStatement) -> None:
        """Drop one prepared statement, or all."""
        name = statement.text.split()[-1]
        if statement.words[-1] == "ALL":
            self._statements.clear()
        elif self._statements.pop(name.strip('"'), None) is None:
            raise Refusal("26000", "There is no prepared statement of this name.")

    def _send_description(self, columns: Columns, formats: list[int]) -> None:
        parts = [
            pack_text(name)
            + pack_int(0) + pack_int(0, 2) + pack_int(kind.oid) + pack_int(kind.size, 2)
            + pack_int(-1) + pack_int(_pick_format(formats, i), 2)
            for i, (name, kind) in enumerate(columns)
        ]  # fmt: skip
        self._writer.write(pack(b"T", pack_int(len(columns), 2), *parts))

    async def _send_rows(
        self, reply: Reply, formats: list[int], start: int, end: int | None
    ) -> int:
        """Send rows no faster than the client takes them; give how many."""
        if reply.frame is None:
            return 0
        rows = reply.frame[start:end]
        kinds = [(kind, _pick_format(formats, i) == 1) for i, (_, kind) in enumerate(reply.columns)]
        packed: list[bytes] = []
        held = 0
        for row in rows.iter_rows():
            cells = [write_value(cell, *kind) for cell, kind in zip(row, kinds, strict=True)]
            packed.append(pack_cells(cells))
            held += len(packed[-1])
            if held > FLUSHED:
                await self._flush(packed)
                held = 0
        await self._flush(packed)
        return rows.height

    async def _flush(self, packed: list[bytes]) -> None:
        if self._writer.is_closing():
            raise ConnectionResetError
        self._writer.write(b"".join(packed))
        packed.clear()
        await self._writer.drain()

    def _send_tag(self, tag: str) -> None:
        self._writer.write(pack(b"C", pack_text(tag)))


def _pick_format(formats: list[int], place: int) -> int:
    """Of how values are written: none said is text, one said is for all."""
    return formats[place if place < len(formats) > 1 else 0] if formats else 0


def _show(name: str) -> Reply:
    if name.strip().upper() == "ALL":
        told = {"name": [*SETTINGS], "setting": [*SETTINGS.values()]}
    else:
        told = {name.strip().lower().replace(" ", "_"): [show_setting(name)]}
    columns, frame = read_columns([*told], pl.DataFrame(told))
    return Reply("SHOW", columns, frame)


def _confess(fault: Exception) -> Refusal:
    """Say where a fault is, here and to the client, and nothing of what was asked."""
    frames = traceback.extract_tb(fault.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    if sys.stderr is not None:
        print(f"A fault in discreet: {type(fault).__name__} at {place}.", file=sys.stderr)
    return Refusal(
        "XX000", f"This is a fault in discreet: {type(fault).__name__}.", "Please report it."
    )
