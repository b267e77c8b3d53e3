"""Values on the wire: columns of answers as text or bytes, and parameters of questions."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl
from sqlglot import exp

from discreet.serving.messages import Refusal, read_text

EPOCH = dt.date(2000, 1, 1)
Parameter = bool | int | Decimal | str | dt.date | None


@dataclass(frozen=True)
class WireType:
    """A type as clients know it, and how its values are written."""

    oid: int
    size: int
    name: str
    sample: Parameter
    pack: Callable[[Any], bytes]
    """As bytes, for clients that ask for them; as text all are written alike."""


INT8 = WireType(20, 8, "bigint", 0, struct.Struct(">q").pack)
FLOAT8 = WireType(701, 8, "double precision", Decimal(0), struct.Struct(">d").pack)
BOOL = WireType(16, 1, "boolean", True, struct.Struct(">?").pack)
DATE = WireType(1082, 4, "date", EPOCH, lambda day: struct.pack(">i", (day - EPOCH).days))
TEXT = WireType(25, -1, "text", "", lambda text: text.encode("utf-8", "replace"))
TYPES = {kind.oid: kind for kind in (INT8, FLOAT8, BOOL, DATE, TEXT)}


def find_type(dtype: pl.DataType) -> WireType:
    """Give the type in which a column goes out."""
    if dtype.is_integer():
        return INT8
    if dtype.is_float() or dtype.is_decimal():
        return FLOAT8
    return {pl.Boolean(): BOOL, pl.Date(): DATE}.get(dtype, TEXT)  # type: ignore[arg-type]


Columns = list[tuple[str, WireType]]


def read_columns(names: list[str], frame: pl.DataFrame) -> tuple[Columns, pl.DataFrame]:
    """Give an answer's columns with their types, and the answer in no other types than these."""
    kinds = [find_type(dtype) for dtype in frame.dtypes]
    plain = []
    for name, kind in zip(frame.columns, kinds, strict=True):
        if kind is FLOAT8:
            plain.append(pl.col(name).cast(pl.Float64))
        elif isinstance(frame.schema[name], pl.List):
            items = pl.col(name).cast(pl.List(pl.String)).list.join(",")
            plain.append(pl.concat_str(pl.lit("{"), items, pl.lit("}")).alias(name))
        elif kind is TEXT:
            plain.append(pl.col(name).cast(pl.String))
    return [*zip(names, kinds, strict=True)], frame.with_columns(plain)


def conform(columns: Columns, frame: pl.DataFrame, told: Columns) -> pl.DataFrame:
    """Give an answer in the types that were told to the client before it was known."""
    changed = Refusal("0A000", "cached plan must not change result type", "Prepare it again.")
    if [name for name, _ in columns] != [name for name, _ in told]:
        raise changed
    casts = []
    for cells, (_, found), (_, kind) in zip(frame, columns, told, strict=True):
        whole = found is FLOAT8 and bool((cells.drop_nulls() % 1 == 0).all())
        if kind is FLOAT8 and found is INT8:
            casts.append(cells.cast(pl.Float64))
        elif kind is INT8 and whole:
            casts.append(cells.cast(pl.Int64))
        elif kind is not found and cells.null_count() < cells.len():
            raise changed
    return frame.with_columns(casts)


def write_value(value: Any, kind: WireType, binary: bool) -> bytes | None:
    """Write a cell as the client wants it."""
    if value is None:
        return None
    if binary:
        return kind.pack(value)
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, float):
        if not math.isfinite(value):
            return b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity"
        return repr(value).removesuffix(".0").encode()
    return str(value).encode("utf-8", "replace")


INTEGERS = {20: ">q", 21: ">h", 23: ">i", 26: ">I"}
FLOATS = {700: ">f", 701: ">d"}
NUMERIC = 1700
TEXTS = (0, 18, 19, 25, 705, 1042, 1043)
TRUE, FALSE = ("t", "true", "1", "on", "y", "yes"), ("f", "false", "0", "off", "n", "no")


def read_parameter(data: bytes | None, oid: int, binary: bool) -> Parameter:
    """Read the value of a parameter; what has no place in a question is refused."""
    if data is None:
        return None
    try:
        if oid in TEXTS:
            return read_text(data)
        if oid in INTEGERS:
            return int(struct.unpack(INTEGERS[oid], data)[0]) if binary else int(read_text(data))
        if oid in FLOATS or oid == NUMERIC:
            return _read_number(data, oid, binary)
        if oid == BOOL.oid:
            return data == b"\1" if binary else _read_truth(read_text(data))
        if oid == DATE.oid:
            if binary:
                return EPOCH + dt.timedelta(days=struct.unpack(">i", data)[0])
            return dt.date.fromisoformat(read_text(data))
    except (ValueError, InvalidOperation, OverflowError, struct.error) as error:
        raise Refusal("22P02", "A parameter is not what its type says.") from error
    raise Refusal(
        "0A000",
        f"Parameters of the type {oid} are not known here.",
        "Give numbers, texts, dates or truth values.",
    )


def _read_truth(text: str) -> bool:
    if text.lower() not in (*TRUE, *FALSE):
        raise ValueError
    return text.lower() in TRUE


def _read_number(data: bytes, oid: int, binary: bool) -> Decimal:
    if not binary:
        number = Decimal(read_text(data))
    elif oid in FLOATS:
        number = Decimal(repr(struct.unpack(FLOATS[oid], data)[0]))
    else:  # groups of four digits, the first of them times 10000 to the power of the weight
        count, weight, sign, _ = struct.unpack(">Hhhh", data[:8])
        groups = struct.unpack(f">{count}H", data[8:])
        if sign not in (0, 0x4000):
            raise ValueError
        whole = sum(group * 10_000 ** (count - 1 - i) for i, group in enumerate(groups))
        number = Decimal(-whole if sign else whole).scaleb(4 * (weight - count + 1))
    if not number.is_finite() or abs(number.adjusted()) > 300:
        raise ValueError
    return number


def write_literal(value: Parameter) -> exp.Expr:
    """Make the node of a question that stands for a value; it never becomes text by itself."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, dt.date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, str):
        return exp.Literal.string(value)
    number = exp.Literal.number(f"{abs(value):f}" if isinstance(value, Decimal) else abs(value))
    return exp.Neg(this=number) if value < 0 else number
