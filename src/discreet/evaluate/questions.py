"""Questions: a workload as an analyst would write it, in SQL, with the true answers by DuckDB.

Kinds as in the papers: counts over sets of values (ANGEL, section 6), counts over ranges of numbers
(proximity, section 6), sums and averages of a sensitive number (permutation, section 6). Each asks
about a few attributes, so that it covers a share of the space: the volume.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.errors import DiscreetError, QueryError, SchemaError
from discreet.evaluate.workload import draw_workload
from discreet.files import read_text
from discreet.forms.estimates import Estimator
from discreet.forms.workload import Workload
from discreet.release import Release
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.coarsening import Coarsening
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata
from discreet.table.schema import Type

KINDS = ("count", "range", "sum", "average")
FUNCTIONS = {"sum": "SUM", "average": "AVG"}
LEAST = 0.001
"""A question that is about a smaller share of people is held against that share."""
AT_ONCE = 100
"""So many questions are put to DuckDB in one statement."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Questions of one kind about the same attributes."""

    kind: str
    number: str | None
    """What is added up or averaged."""
    workload: Workload
    sql: list[str]
    """Each question as it is put to a release."""
    truth: Floats


@dataclass(frozen=True)
class Errors:
    """Relative errors of the answers to questions of one kind."""

    mean: float
    median: float
    high: float
    """Nine of ten are no larger."""
    questions: int
    """How many have an answer."""

    @staticmethod
    def of(wrong: Floats) -> Errors:
        """Sum up what each answer is off by.

        >>> Errors.of(np.array([0.0, 0.1, 0.2]))
        Errors(mean=0.1, median=0.1, high=0.2, questions=3)
        """
        if not len(wrong):  # nobody was meant by any question
            return Errors(0.0, 0.0, 0.0, 0)
        middle, high = np.quantile(wrong, [0.5, 0.9], method="higher").tolist()
        return Errors(float(wrong.mean().round(15)), middle, high, len(wrong))


@dataclass(frozen=True, eq=False)
class Questions:
    """What all methods are asked: drawn batches, and the steward's own questions."""

    batches: list[Batch]
    own: list[tuple[str, float, float]]
    """SQL of one number each, the true answer, and the least it is held against."""

    @property
    def counts(self) -> dict[str, int]:
        """How many questions there are of each kind."""
        drawn = {kind: sum(len(batch.sql) for batch in self.batches if batch.kind == kind)
                 for kind in KINDS}  # fmt: skip
        return {kind: many for kind, many in {**drawn, "own": len(self.own)}.items() if many}


def draw_questions(
    data: Microdata,
    count: int = 1000,
    *,
    volume: float = 0.1,
    dimensions: int = 3,
    own: str | Path | None = None,
    seed: int = 0,
) -> Questions:
    """Draw about ``count`` questions, as many of each kind, and find the true answers.

    ``own`` is a file of SQL questions about the table ``release``, one per statement; each must
    give one number.

    >>> import discreet as dc
    >>> data = dc.datasets.adult(sensitive="occupation").head(200)
    >>> list(draw_questions(data, 20).counts)
    ['count', 'range']
    """
    rng = np.random.default_rng(seed)
    ordered = [n for n in data.quasi_identifiers if data.schema[n].type.ordered]
    numbers = [n for n in data.sensitive if data.schema[n].type in (Type.INTEGER, Type.DECIMAL)]
    numbers = [n for n in numbers if not data.domains[n].missing]
    asked: dict[str, list[str]] = {"count": [*data.quasi_identifiers, *data.sensitive]}
    if ordered:
        asked["range"] = ordered
    if numbers:
        asked |= {"sum": data.quasi_identifiers, "average": data.quasi_identifiers}
    asked = {kind: names for kind, names in asked.items() if names}
    frame = data.to_own_values()
    batches = []
    for kind, names in asked.items():
        number = numbers[0] if kind in ("sum", "average") else None
        for chosen, many in _choose(rng, names, dimensions, -(-count // len(asked))):
            drawn = draw_workload(data, volume, many, names=chosen, seed=int(rng.integers(2**31)))
            where = [_write_where(data, drawn.takes, q) for q in range(many)]
            function = FUNCTIONS.get(kind)
            select = f"{function}({_quote(number)})" if function and number else "COUNT(*)"
            truth = _ask(frame, select, where)
            sql = [f"SELECT {select} FROM release WHERE {text}" for text in where]
            batches.append(Batch(kind, number, drawn, sql, truth))
    return Questions(batches, [] if own is None else read_own(Path(own), data))


def _choose(
    rng: np.random.Generator, names: Sequence[str], dimensions: int, count: int
) -> list[tuple[list[str], int]]:
    """Divide questions over some sets of attributes, drawn by chance."""
    size = min(dimensions, len(names))
    sets: dict[tuple[str, ...], int] = {}
    lots = max(1, min(10, count // 10))
    for i in range(lots):
        chosen = tuple(names[j] for j in sorted(rng.choice(len(names), size, replace=False)))
        sets[chosen] = sets.get(chosen, 0) + count // lots + (i < count % lots)
    return [(list(chosen), many) for chosen, many in sets.items() if many]


def _write_where(data: Microdata, takes: dict[str, Bools], question: int) -> str:
    parts = []
    for name, flags in takes.items():
        domain, codes = data.domains[name], np.flatnonzero(flags[question])
        present = codes[codes < len(domain.values)]
        column, values = _quote(name), [_literal(data, name, code) for code in present.tolist()]
        coarse = Coarsening.of(domain.attribute)
        if coarse is not None and coarse.aggregate is None and values:
            made = _write_range(column, domain, coarse, present)
        elif domain.attribute.type.ordered and domain.attribute.type is not Type.ORDINAL and values:
            made = f"{column} BETWEEN {values[0]} AND {values[-1]}"
        elif values:
            made = f"{column} IN ({', '.join(values)})"
        else:
            made = "FALSE"
        if len(present) < len(codes):  # the missing value is one of those asked for
            made = f"({made} OR {column} IS NULL)"
        parts.append(made)
    return " AND ".join(parts)


def _write_range(column: str, domain: Domain, coarse: Coarsening, codes: Ints) -> str:
    """Write which of people's own numbers are shown so; beyond a code there is no end."""
    shown: Ints = np.asarray(domain.values, dtype=np.int64)[codes[[0, -1]]]
    kind = domain.attribute.type
    first, last = coarse.least(shown[:1])[0], coarse.most(shown[1:])[0]
    parts = []
    if not coarse.opens_below(shown[:1])[0]:
        parts.append(f"{column} >= {_write_literal(domain.write(int(first)), kind)}")
    if not coarse.opens_above(shown[1:])[0]:
        parts.append(f"{column} <= {_write_literal(domain.write(int(last)), kind)}")
    return " AND ".join(parts) or f"{column} IS NOT NULL"


def _literal(data: Microdata, name: str, code: int) -> str:
    return _write_literal(data.domains[name].texts[code], data.schema[name].type)


def _write_literal(text: str, kind: Type) -> str:
    if kind in (Type.INTEGER, Type.DECIMAL):
        return text
    quoted = "'" + text.replace("'", "''") + "'"
    return f"DATE {quoted}" if kind is Type.DATE else quoted


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _ask(frame: object, select: str, where: list[str]) -> Floats:
    """Answer many questions about a frame in a few passes of DuckDB."""
    from discreet.sql.engines.duckdb import open_connection

    found: list[float] = []
    with open_connection() as database:
        database.register("release", frame)
        for first in range(0, len(where), AT_ONCE):
            part = where[first : first + AT_ONCE]
            asked = ", ".join(f"{select} FILTER (WHERE {text})" for text in part)
            row = database.execute(f"SELECT {asked} FROM release").fetchone() or ()
            found += [float("nan") if value is None else float(value) for value in row]
    return np.array(found)


def read_own(path: Path, data: Microdata) -> list[tuple[str, float, float]]:
    """Read a steward's questions, one per statement, and answer each from the microdata."""
    import duckdb

    from discreet.sql.planning import plan_question
    from discreet.sql.reading import parse

    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"{path}: the questions cannot be read ({error}).", hint="Give a UTF-8 file of SQL."
        ) from error
    parts = [text] if ";" in text else text.splitlines()  # or one question per line
    asked = []
    for part in parts:
        try:
            asked += [tree.sql("duckdb") for tree in parse(part)]
        except QueryError as error:
            error.message = f"{path.name}: {error.message}"
            error.hint = error.hint or "Write one SELECT per line, or with a semicolon after each."
            raise
    if not asked:
        raise QueryError(f"{path.name}: holds no question.", hint="Write one SELECT per question.")
    answered = []
    with duckdb.connect() as database:
        database.register("release", data.to_own_values())
        for sql in asked:
            made = plan_question(sql, data.public_schema)
            (query, *others) = made.questions
            if not made.is_simple or others or query.keys or len(query.aggregates) != 1:
                raise QueryError(
                    f"{path.name}: {sql} does not ask for one number.",
                    hint="Ask for one COUNT, SUM or AVG, without GROUP BY.",
                )
            (aggregate,) = query.aggregates
            column = "*" if aggregate.term is None else aggregate.term.expression.sql("duckdb")
            where = "TRUE" if query.where is None else query.where.sql("duckdb")
            meant = f"SELECT {aggregate.function}({column}) FROM release WHERE {where}"
            try:
                (value,) = database.execute(meant).fetchone() or (None,)
                value = None if value is None else float(value)
            except (duckdb.Error, ValueError, TypeError) as error:
                raise QueryError(
                    f"{path.name}: {sql} cannot be answered ({str(error).splitlines()[0]}).",
                    hint="Compare numbers with numbers and texts with texts; ask for a number.",
                ) from error
            least = _find_least(data, aggregate.function, aggregate.column)
            answered.append((sql, float("nan") if value is None else float(value), least))
    return answered


def _find_least(data: Microdata, function: str, column: str | None) -> float:
    """What an answer is held against at least: one person, or a thousandth of all."""
    people = max(LEAST * data.n, 1.0)
    if column is None or function == "COUNT":
        return people
    domain = data.domains[column]
    if not len(domain.values) or domain.attribute.type not in (Type.INTEGER, Type.DECIMAL):
        return 0.0
    mean = float(np.abs(data.to_polars()[column].drop_nulls().to_numpy()).mean())
    return mean * (people if function == "SUM" else LEAST)


def measure_errors(truth: Floats, estimate: Floats, least: float) -> Floats:
    """Give ``|estimate - truth| / truth`` of each question; below ``least``, as if it were that.

    A question that is about hardly anybody would else decide everything.
    """
    known = ~(np.isnan(truth) | np.isnan(estimate))
    scale = np.maximum(np.abs(truth[known]), least)
    wrong = np.abs(estimate[known] - truth[known])
    return np.divide(wrong, scale, out=np.zeros_like(wrong), where=scale > 0)


def answer_questions(
    release: Release, data: Microdata, questions: Questions
) -> tuple[dict[str, Errors], dict[str, str]]:
    """Put all questions to a release; give the errors of each kind, and what it refused."""
    estimator = Estimator(release, data)
    wrong: dict[str, list[np.ndarray]] = {}
    unanswered: dict[str, str] = {}
    for batch in questions.batches:
        try:
            estimate = estimator.estimate(batch.workload, batch.number)
            if batch.kind == "average":
                counts = estimator.estimate(batch.workload)
                estimate = np.divide(estimate, counts, out=np.full_like(counts, np.nan),
                                     where=counts > 0)  # fmt: skip
        except DiscreetError as error:
            unanswered.setdefault(batch.kind, error.message)
            continue
        least = _find_least(data, FUNCTIONS.get(batch.kind, "COUNT"), batch.number)
        wrong.setdefault(batch.kind, []).append(measure_errors(batch.truth, estimate, least))
    own = []
    for sql, truth, least in questions.own:
        try:
            told = release.query(sql).estimate
            guessed = np.array([np.nan if told is None else told], dtype=float)
            own.append(measure_errors(np.array([truth]), guessed, least))
        except DiscreetError as error:
            unanswered.setdefault("own", error.message)
    if own:
        wrong["own"] = own
    return {kind: Errors.of(np.concatenate(parts)) for kind, parts in wrong.items()}, unanswered
