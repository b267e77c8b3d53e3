"""Text files: CSV as offices have it, whatever its encoding and separator, compressed or not.

What a file does not say itself is found by evidence: its bytes tell the encoding, its header what
separates cells. Cells stay texts.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

import polars as pl

from discreet.errors import MicrodataError
from discreet.files import split_lines

ENDINGS = (".csv", ".tsv", ".txt")
PACKED = (".gz", ".bz2", ".zst")
SEPARATORS = (",", ";", "\t", "|")
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""What a file begins with if it says its encoding; that of UTF-32 begins with that of UTF-16."""
LIKELY = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "cp850", "mac_roman")
"""Encodings of one byte per character in which offices write tables, the most frequent first."""
ODD = re.compile(
    r"[^\W\d_][^\w\s\x00-\x7f’‘“”–—…·¿¡]|[^\w\s\x00-\x7f’‘“”–—…·¿¡][^\W\d_]|"
    r"[^\W\d_][²³¹¼½¾¿¡]|[²³¹¼½¾][^\W\d_]|[\x80-\x9f]|\b[À-ÿ]{4,}\b"
)
"""A sign that is no letter beside one, or one that nobody writes, or a word of accents alone: it
was read wrongly."""
LOOKED_AT = 1 << 20
"""Bytes that tell an encoding."""


@dataclass(frozen=True)
class FileFormat:
    """How a file is written, where it does not say so itself and what is found is not right.

    ``sheet`` is that of a workbook.
    """

    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise MicrodataError(
                    f"There is no encoding {self.encoding!r}.",
                    hint='Give one such as "utf-8", "utf-16", "latin-1" or "cp1252".',
                ) from None
        if self.separator is not None and len(self.separator) != 1:
            raise MicrodataError(
                f"separator = {self.separator!r} is not one character.",
                hint='Give for example ";" or "\\t".',
            )


AS_FOUND = FileFormat()
"""Everything is found."""


def is_text_file(path: Path) -> bool:
    """Whether the name of a file says that it is text, compressed or not."""
    name = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return name.suffix.lower() in ENDINGS


def read_text_file(path: Path, format_: FileFormat) -> tuple[pl.DataFrame, FileFormat]:
    """Read text cells with pyarrow, which refuses ragged lines where polars would fill them.

    Gives the format with what was found.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    told = look_through(path) if format_.encoding is None else FoundText(format_.encoding)
    encoding = told.encoding
    try:
        header, separator, before = _read_header(path, encoding, format_.separator)
        found = replace(format_, encoding=encoding, separator=separator)
        longest = before + sum(len(name.encode()) + 3 for name in header)
        options = pa_csv.ReadOptions(
            block_size=max(1 << 20, 4 * longest), skip_rows=before, encoding=_plain(encoding)
        )
        table = pa_csv.read_csv(
            path,  # not an open file: its threads would still call Python while that ends
            read_options=options,
            parse_options=pa_csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=told.quotes,  # else parts are read side by side
                ignore_empty_lines=len(header) > 1,  # in a single column a blank line is a cell
            ),
            convert_options=pa_csv.ConvertOptions(
                # whatever its columns are called: 01234 is no number
                default_column_type=pa.string(),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except UnicodeError as error:
        raise _wrongly_encoded(path, encoding) from error
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return pl.DataFrame({name: [] for name in header}), found
        raise _explain_invalid(path, encoding, separator, len(header), error) from error
    refuse_header(table.column_names, path.name)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.rename({name: name.strip() for name in frame.columns}), found


def read_header(path: Path, format_: FileFormat) -> list[str]:
    """Read the names of the columns alone."""
    encoding = format_.encoding or look_through(path).encoding
    try:
        return [name.strip() for name in _read_header(path, encoding, format_.separator)[0]]
    except UnicodeError as error:
        raise _wrongly_encoded(path, encoding) from error


class FoundText(NamedTuple):
    """What the bytes of a file tell."""

    encoding: str
    quotes: bool = True
    """Whether a quote may stand in it, and with it a line end inside a cell."""


def look_through(path: Path) -> FoundText:
    """Find the encoding of a file by its first bytes, and by whether all of it is UTF-8."""
    with open_bytes(path) as file:
        start = file.read(LOOKED_AT)
        for mark, encoding in MARKS.items():
            if start.startswith(mark):
                return FoundText(encoding)
        zeros = [start[i::2].count(0) for i in (0, 1)]
        if max(zeros) > len(start) // 8:  # every other byte of Latin letters is nothing in UTF-16
            return FoundText("utf-16-le" if zeros[1] > zeros[0] else "utf-16-be")
        decoder = codecs.getincrementaldecoder("utf-8")()
        part, quotes, ascii_only = start, False, True
        try:
            while part:
                quotes = quotes or b'"' in part
                ascii_only = ascii_only and part.isascii()
                if not ascii_only:
                    decoder.decode(part)
                part = file.read(LOOKED_AT)
            decoder.decode(b"", final=True)
            return FoundText("utf-8", quotes)
        except UnicodeDecodeError:
            return FoundText(_guess_encoding(start if part is start else part))


def _guess_encoding(content: bytes) -> str:
    """Let words tell which of several encodings of one byte per character it is.

    Words have no signs inside, and no capitals behind small letters. Of short cells in one language
    charset-normalizer took four of six tables for something else.
    """
    found = []
    for place, encoding in enumerate(LIKELY):
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            capitals = sum(
                b.isupper() and not b.isascii() and a.islower() for a, b in pairwise(text)
            )
            found.append((len(ODD.findall(text)) + capitals, place, encoding))
    return min(found)[2] if found else "latin-1"


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file as the bytes that it has unpacked."""
    import pyarrow as pa

    packed = path.suffix.lower() in PACKED
    with pa.input_stream(str(path), compression="detect" if packed else None) as stream:
        yield stream


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    with open_bytes(path) as stream, _long_fields():
        yield io.TextIOWrapper(stream, encoding=encoding, newline="")


def _plain(encoding: str) -> str:
    """What pyarrow calls an encoding: it passes over a mark before UTF-8 by itself."""
    return "utf8" if encoding.lower().replace("_", "-") in ("utf-8", "utf-8-sig", "utf8") else (
        encoding)  # fmt: skip


def _read_header(path: Path, encoding: str, given: str | None) -> tuple[list[str], str, int]:
    """Read the names of the columns, what separates them, and how many blank lines come before.

    A name may hold anything.
    """
    encoding = "utf-8-sig" if _plain(encoding) == "utf8" else encoding
    with _open_text(path, encoding) as file:
        start = file.read(1 << 16)
    if not start.strip():
        raise MicrodataError(
            f"{path.name}: the file is empty.", hint="Give a table with a header and rows."
        )
    separator = given or find_separator(start)
    with _open_text(path, encoding) as file:
        rows = enumerate(csv.reader(file, delimiter=separator))
        before, header = next((i, row) for i, row in rows if row)
    refuse_header(header, path.name)
    return header, separator, before


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let Python's reader take cells as long as pyarrow's does."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def _wrongly_encoded(path: Path, encoding: str) -> MicrodataError:
    return MicrodataError(
        f"{path.name}: the text is not {encoding}.",
        hint='Say in the plan how it is written, as encoding = "cp1252" under [source], or save it '
        "as UTF-8.",
    )


def _explain_invalid(
    path: Path, encoding: str, separator: str, width: int, error: Exception
) -> Exception:
    """Say in which line cells are missing or too many, or that the text cannot be read."""
    try:
        place = _find_ragged_line(path, encoding, separator, width)
    except UnicodeDecodeError:
        return _wrongly_encoded(path, encoding)
    if place is None:
        return error
    line, cells = place
    return MicrodataError(
        f"{path.name}: line {line} has {cells} cells, the header has {width}.",
        hint=f"Quote cells that contain {separator!r}, or fill in the missing cells.",
    )


def _find_ragged_line(
    path: Path, encoding: str, separator: str, width: int
) -> tuple[int, int] | None:
    with _open_text(path, encoding) as file:
        reader = csv.reader(file, delimiter=separator)
        for row in reader:
            if row and len(row) != width:
                return reader.line_num, len(row)
    return None


def find_separator(start: str) -> str:
    """Find what separates the cells of a text from its header."""
    first = next((line for line in split_lines(start) if line.strip()), "")
    return max(SEPARATORS, key=first.count)


def refuse_header(header: list[str], source: str) -> None:
    """Refuse columns without a name, with that of another, or with one that libraries cut off."""
    for name, count in Counter(name.strip() for name in header).items():
        if name and count == 1 and "\0" not in name:
            continue
        what = f"repeats the column {name!r}" if name else "has a column without a name"
        if "\0" in name:
            what = f"has a NUL character in the name {name!r}"
        raise MicrodataError(
            f"{source}: its header {what}.", hint="Name every column once, in the first row."
        )
