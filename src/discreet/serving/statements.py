"""Statements as clients send them: told apart, and parameters put in their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from discreet.serving.messages import Refusal
from discreet.serving.values import (
    BOOL,
    DATE,
    FLOAT8,
    INT8,
    TEXT,
    Parameter,
    WireType,
    write_literal,
)

PIECES = re.compile(
    r"""(?P<text>(?<!\w)[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z)
               | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z))
      | (?P<name>"(?:[^"]|"")*(?:"|\Z))
      | (?P<comment>--[^\n]* | /\*.*?(?:\*/|\Z))
      | (?<![\w$])\$(?P<number>\d{1,5})(?!\w)
      | (?P<end>;)""",
    re.VERBOSE | re.DOTALL,
)
"""What is no plain word. All that has no end goes to the end, so that no text is read twice."""
CATALOGUE = re.compile(r'\b(?:from|join)\s+(?:only\s+)?"?(?:pg_|information_schema\b)', re.I)
MOST_JOINED = 8
CASTS = {
    exp.DType.BIGINT: INT8, exp.DType.INT: INT8, exp.DType.SMALLINT: INT8, exp.DType.DATE: DATE,
    exp.DType.DOUBLE: FLOAT8, exp.DType.FLOAT: FLOAT8, exp.DType.DECIMAL: FLOAT8,
    exp.DType.BOOLEAN: BOOL, exp.DType.TEXT: TEXT, exp.DType.VARCHAR: TEXT,
}  # fmt: skip


@dataclass(frozen=True)
class ClientStatement:
    """One statement, and what is known of it without reading it."""

    text: str
    bare: str
    """Without what stands in texts and comments."""

    @property
    def words(self) -> list[str]:
        """Its first words."""
        return [word.upper() for word in re.findall(r"[\w.]+", self.bare[:200])[:4]]

    @property
    def parameters(self) -> int:
        """How many parameters it has."""
        numbers = (found["number"] for found in PIECES.finditer(self.text))
        return max((int(number) for number in numbers if number), default=0)

    @property
    def about_catalogue(self) -> bool:
        """Whether it asks what there is, and not the release."""
        if self.words[:1] not in (["SELECT"], ["WITH"], ["VALUES"]):
            return False
        return not re.search(r"\bfrom\b", self.bare, re.I) or bool(CATALOGUE.search(self.bare))


def split(text: str) -> Iterator[ClientStatement]:
    """Tell apart statements that were sent together; what is empty is none.

    >>> [statement.text for statement in split("SELECT ';'; /* no; more */; BEGIN")]
    ["SELECT ';'", 'BEGIN']
    """
    start, at = 0, 0
    bare: list[str] = []
    for found in [*PIECES.finditer(text), None]:
        bare.append(text[at : found.start() if found else len(text)])
        if found is None or found["end"]:
            plain = "".join(bare).strip()
            if plain:
                yield ClientStatement(text[start : found.start() if found else None].strip(), plain)
            start, bare = found.end() if found else 0, []
        elif found["comment"]:
            bare.append(" ")
        else:
            bare.append("''" if found["text"] else found[0])
        at = found.end() if found else 0


def read_tree(statement: ClientStatement, dialect: str) -> exp.Expr:
    """Read a statement, with names in place of parameters."""
    text = PIECES.sub(
        lambda found: f" :p{found['number']} " if found["number"] else found[0], statement.text
    )
    try:
        tree = sqlglot.parse_one(text, read=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else "not SQL"
        raise Refusal("42601", f"The statement is {said}.") from error
    if tree is None:
        raise Refusal("42601", "The statement is not SQL.")
    return tree


def find_types(tree: exp.Expr, count: int, columns: Mapping[str, WireType]) -> list[WireType]:
    """Say what parameters are: what they are cast to, or the column that stands beside them."""
    types = [TEXT] * count
    for place in tree.find_all(exp.Placeholder):
        parent = place.parent
        found: WireType | None = None
        if isinstance(parent, exp.Cast):
            found = CASTS.get(parent.to.this)
        elif parent is not None:
            names = (fold_name(column.name) for column in parent.find_all(exp.Column))
            found = next((columns[name] for name in names if name in columns), None)
        if found is not None and (number := _number(place)) <= count:
            types[number - 1] = found
    return types


def fold_name(name: str) -> str:
    """Give a name without what clients write differently: capitals, underscores, blanks."""
    return re.sub(r"[\W_]", "", name).lower()


def _number(place: exp.Placeholder) -> int:
    name = str(place.this or "")
    if not re.fullmatch(r"p[1-9]\d*", name):
        raise Refusal("42601", "Parameters are written $1, $2, ….")
    return int(name[1:])


def put_parameters(tree: exp.Expr, values: Sequence[Parameter]) -> exp.Expr:
    """Put values in the places of parameters, as nodes of the tree."""
    for place in list(tree.find_all(exp.Placeholder)):
        if _number(place) > len(values):
            raise Refusal("42P02", f"There is no parameter ${_number(place)}.")
        literal = write_literal(values[_number(place) - 1])
        cast = isinstance(place.parent, exp.Cast)
        (place.parent if cast else place).replace(literal)  # type: ignore[union-attr]
    return tree


def refuse_growth(tree: exp.Expr) -> None:
    """Refuse a question in which texts are joined again and again: each time they may double."""
    if sum(1 for _ in tree.find_all(exp.DPipe, exp.Concat, exp.ConcatWs)) > MOST_JOINED:
        raise Refusal("54000", f"A question may join texts {MOST_JOINED} times.")


def refuse_other_tables(tree: exp.Expr) -> bool:
    """Let a question read nothing but the release, whatever engines would find under a name.

    Gives whether it had to be written differently: clients name the schema, ``public``.
    """
    known = {"release", *(clause.alias.lower() for clause in tree.find_all(exp.CTE))}
    changed = False
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.name.lower() not in known:
            raise Refusal(
                "42P01", f"There is no table {table.sql(dialect='duckdb')}.", "Write FROM release."
            )
        if table.args.get("db") is not None:
            if table.db.lower() != "public":
                raise Refusal("42P01", f"There is no schema {table.db}.", "Write FROM release.")
            table.set("db", None)
            table.set("catalog", None)
            changed = True
    return changed
