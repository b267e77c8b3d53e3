"""A release that is served: its questions and its catalogue, one at a time each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from discreet.errors import QueryError
from discreet.serving.catalogue import Catalogue
from discreet.serving.messages import Refusal
from discreet.serving.statements import (
    ClientStatement,
    find_types,
    fold_name,
    put_parameters,
    read_tree,
    refuse_growth,
    refuse_other_tables,
)
from discreet.serving.values import BOOL, DATE, FLOAT8, INT8, TEXT, Parameter, WireType
from discreet.table.schema import Type

if TYPE_CHECKING:
    from discreet.release import Release

OF_TYPE = {Type.INTEGER: INT8, Type.DECIMAL: FLOAT8, Type.DATE: DATE, Type.BOOLEAN: BOOL}
Answered = tuple[list[str], pl.DataFrame]
"""Names of columns, and the columns; several may have the same name."""
LOOKING_UP = 5.0
"""Seconds after which a look into the catalogue is broken off."""


class ServedRelease:
    """A release held ready, for any number of clients.

    The session and the catalogue are connections that must not be used by two at once.
    """

    def __init__(self, name: str, names: Iterable[str], release: Release) -> None:
        columns = {one.name: OF_TYPE.get(one.type, TEXT) for one in release.schema}
        self.name = name
        self._columns = {fold_name(column): kind for column, kind in columns.items()}
        self._prepared = release.prepare()
        self._catalogue = Catalogue(name, names, columns)
        self._asking, self._looking = asyncio.Lock(), asyncio.Lock()

    async def find_types(self, statement: ClientStatement) -> list[WireType]:
        """Say what a statement's parameters are."""
        count = statement.parameters
        if not count:
            return []

        def work() -> list[WireType]:
            return find_types(read_tree(statement, _dialect(statement)), count, self._columns)

        return await asyncio.to_thread(work)

    async def answer(self, statement: ClientStatement, values: Sequence[Parameter]) -> Answered:
        """Answer a question, or a look into the catalogue."""
        if statement.about_catalogue:
            async with self._looking:
                return await _run(
                    lambda: self._look_up(statement, values), self._catalogue.interrupt, LOOKING_UP
                )
        async with self._asking:
            return await _run(lambda: self._ask(statement, values), self._prepared.interrupt)

    def _look_up(self, statement: ClientStatement, values: Sequence[Parameter]) -> Answered:
        return self._catalogue.look_up(put_parameters(read_tree(statement, "postgres"), values))

    def _ask(self, statement: ClientStatement, values: Sequence[Parameter]) -> Answered:
        if statement.words[:1] not in (["SELECT"], ["WITH"]):
            raise Refusal("0A000", "Only SELECT is answered.", "Ask: SELECT COUNT(*) FROM release.")
        text = statement.text
        try:
            tree = read_tree(statement, _dialect(statement))
        except Refusal:
            if statement.parameters:
                raise
        else:
            refuse_growth(tree)
            if refuse_other_tables(tree) or statement.parameters:
                text = put_parameters(tree, values).sql(dialect="duckdb")
        try:
            frame = self._prepared.query(text).frame
        except QueryError as error:
            raise Refusal("42000", error.message, error.hint) from error
        return frame.columns, frame.cast({pl.Null: pl.Float64})  # a number that there is none of

    def close(self) -> None:
        """Let go of everything."""
        self._prepared.close()
        self._catalogue.close()


def _dialect(statement: ClientStatement) -> str:
    """Questions are written as everywhere here, the catalogue's as clients write them."""
    return "postgres" if statement.about_catalogue else "duckdb"


async def _run(
    work: Callable[[], Answered], interrupt: Callable[[], None], seconds: float | None = None
) -> Answered:
    """Work in a thread; whoever no longer waits for it breaks it off."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.wait_for(asyncio.shield(future), seconds)
    except TimeoutError:
        raise Refusal("57014", "Looking this up takes too long.") from None
    finally:
        while not future.done():  # it may not have come to what can be interrupted yet
            interrupt()
            await asyncio.wait({future}, timeout=0.05)
        if not future.cancelled():
            future.exception()  # seen, so that nobody is told of it
