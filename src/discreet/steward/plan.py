"""Plan: the steward's decisions as a TOML file, checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import product
from math import prod
from operator import and_
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WrapValidator, create_model
from pydantic_core import PydanticCustomError

from discreet.errors import DiscreetError, PlanError, list_problems
from discreet.principles import REGISTRY as PRINCIPLES
from discreet.principles import make_principle
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY as METHODS
from discreet.release import Format
from discreet.steward.plan_text import parse_plan, read_plan_text
from discreet.steward.planned_columns import PlannedColumns
from discreet.steward.sections import ColumnPlan, ReleasePlan, RolesPlan, Section, SourcePlan
from discreet.table.databases import DatabaseTable
from discreet.table.readers import TableFile, list_columns
from discreet.table.schema import Schema

SWEEP = re.compile(r"(\d{1,6})\.\.(\d{1,6})")
"""A range of whole numbers to try."""
MOST_TRIED = 100
NO_SEED = (
    "what protects people is drawn by the operating system, by no seed. Leave it out; a test "
    "release that can be made again takes insecure_seed, and --insecure"
)
VALUES = 'give thresholds by value, such as { hiv = 10, none = "any" }'
RULES = "give lists of four: attribute here, its values, attribute there, its values"


def _model_of(kind: type, title: str, skip: tuple[str, ...] = ()) -> type[BaseModel]:
    """Derive the plan's model of a principle or method from its dataclass fields."""
    parts: dict[str, Any] = {"name": (Literal[title], ...)}
    hints = get_type_hints(kind)
    for f in fields(kind):
        if f.name in skip:
            continue
        hint = hints[f.name]
        args = getattr(hint, "__args__", ())
        pairs = [arg for arg in args if get_origin(arg) is tuple]
        if Fraction in args:
            hint = int | float | str
        if int in args and any(get_origin(arg) is Sequence for arg in args):
            hint = _check(list[list[str]] | int, "give a whole number, or a list of lists of names")
        if Literal["auto"] in args:
            hint = _check(
                list[list[str]] | Literal["auto"] | None, 'give "auto", or lists of names in a list'
            )
        if f.name == "values":
            hint = _check(hint, VALUES)
        if pairs:
            hint = _write_pair(single=Fraction in args, optional=type(None) in args)
        if f.name == "earlier":  # folders of releases
            hint = list[str]
        if f.name == "inconsistent":
            four = Annotated[list[str | list[str]], Field(min_length=4, max_length=4)]
            hint = _check(list[four], RULES)
        usual = [] if f.default == () else f.default
        parts[f.name] = (hint, ... if f.default is MISSING else usual)
    doc = (kind.__doc__ or "").split("\n")[0]
    made: type[BaseModel] = create_model(
        kind.__name__, __config__=ConfigDict(extra="forbid", strict=True), __doc__=doc, **parts
    )
    return made


def _write_pair(*, single: bool, optional: bool) -> Any:
    """How two numbers are written, or one for both; what is wrong is said in one sentence."""
    number = int | float | str
    hint: Any = Annotated[list[number], Field(min_length=2, max_length=2)]  # type: ignore[valid-type]
    hint = number | hint if single else hint
    hint = hint | None if optional else hint
    return _check(
        hint, "give one number, or two in a list" if single else "give two numbers in a list"
    )


def _check(hint: Any, wanted: str) -> Any:
    """Take what is wrong with a setting that can be written in several ways in one sentence."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            raise PydanticCustomError("several", wanted) from error  # type: ignore[arg-type]

    return Annotated[hint, WrapValidator(check)]


@cache
def plan_model() -> type[BaseModel]:
    """Build the model of a whole plan from the registries of principles and methods."""
    return create_model(
        "Plan",
        __base__=Section,
        source=(SourcePlan, ...),
        roles=(RolesPlan, RolesPlan()),
        columns=(dict[str, ColumnPlan], {}),
        method=(_method_model(), ...),
        compare=(list[dict[str, Any]], []),
        release=(ReleasePlan, ReleasePlan()),
    )


@cache
def _method_model() -> Any:
    """Build the model of any method with its principles."""
    principles = tuple(_model_of(kind, title) for title, kind in PRINCIPLES.items())
    principle: Any = Annotated[Union[principles], Field(discriminator="name")]  # noqa: UP007
    methods = []
    for title, kind in METHODS.items():
        base = _model_of(kind, title, skip=("principle", "history"))
        methods.append(
            create_model(
                kind.__name__,
                __base__=base,
                principles=(list[principle], Field(min_length=1)),  # type: ignore[valid-type]
            )
        )
    method: Any = methods[0]
    if len(methods) > 1:
        method = Annotated[Union[tuple(methods)], Field(discriminator="name")]  # noqa: UP007
    return method


@dataclass(frozen=True)
class Plan:
    """What to publish, how, and where to."""

    table: TableFile | DatabaseTable
    columns: PlannedColumns
    method: Method
    folder: Path
    format: Format
    insecure_seed: int | None
    inputs: tuple[Path, ...]
    """The files the plan is made of: itself, the table, the taxonomies."""
    remote: str | None = None
    """The address of the table, where it lies where only a cluster finds it."""
    contenders: tuple[Method, ...] = ()
    """The methods to compare, one per value of what is swept over."""
    accept_estimates: bool = False
    """Whether a ledger may go by estimates where nothing better can be had."""

    @property
    def source(self) -> Path:
        """The file of the table, or what it is called in a database."""
        return self.table.path if isinstance(self.table, TableFile) else Path(self.table.name)

    @cached_property
    def schema(self) -> Schema:
        """What the columns are; of the table itself only names are read, where patterns ask."""
        if not self.columns.has_patterns:
            return self.fit([])
        if self.remote is not None:
            raise PlanError(
                f"{self.remote}: only a cluster knows its columns, which patterns under [roles] "
                "are about.",
                hint="Name the columns, or the cluster: --engine spark://…",
            )
        return self.fit(list_columns(self.table))

    def fit(self, columns: Sequence[str]) -> Schema:
        """Say what the columns of a table are that has these."""
        with _naming(self.inputs[0]):
            return self.columns.describe(columns)

    def refuse_seed(self) -> None:
        """Refuse a plan whose release would be decided by a seed."""
        if self.insecure_seed is not None:
            raise PlanError(
                "insecure_seed: whoever guesses it can undo what protects people.",
                hint="Leave it out. For a test release, add --insecure.",
            )

    @staticmethod
    def read(path: str | Path) -> Plan:
        """Read a plan; every mistake in it is named with its place."""
        path = Path(path)
        return Plan.parse(read_plan_text(path), path)

    @staticmethod
    def parse(text: str, path: Path) -> Plan:
        """Understand the text of a plan that lies, or is to lie, at a place."""
        return _understand(parse_plan(text, path), path)


def _understand(written: dict[str, Any], path: Path) -> Plan:
    try:
        plan: Any = plan_model().model_validate(written)
    except ValidationError as error:
        raise PlanError(
            f"{path.name}: not a plan:\n{list_problems([_explain(e) for e in error.errors()])}",
            hint="Compare with a plan written by: discreet inspect FILE.",
        ) from error
    folder = path.parent
    if not plan.columns and not any(plan.roles.by_role.values()):
        raise PlanError(
            f"{path.name}: not a plan: [columns] is missing.",
            hint="Compare with a plan written by: discreet inspect FILE.",
        )
    used = [column.taxonomy for column in plan.columns.values()]
    taxonomies = [folder / t.file for t in used if t is not None and t.file is not None]
    columns = PlannedColumns(plan.columns, plan.roles, plan.source, folder)
    with _naming(path):
        method = _make_method(plan.method.model_dump(), folder)
        contenders = tuple(_list_contenders(plan.compare, path))
        table = plan.source.make_file(folder)
    remote = plan.source.file if "://" in (plan.source.file or "") else None
    made = Plan(
        table,
        columns,
        method,
        folder / plan.release.folder,
        plan.release.format,
        plan.release.insecure_seed,
        (path, *_list_files(table), *taxonomies, *_list_earlier(plan, folder)),
        remote,
        contenders,
        plan.release.accept_estimates,
    )
    if not columns.has_patterns:
        made.schema  # noqa: B018 -- what is wrong with it is said before anything is read
    return made


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say in which plan something is wrong."""
    try:
        yield
    except DiscreetError as error:
        error.message = f"{path.name}: {error.message}"
        raise


def _list_files(table: TableFile | DatabaseTable) -> list[Path]:
    """Give the file that a table lies in, if it is one."""
    if isinstance(table, TableFile):
        return [table.path]
    return [Path(table.database)] if "://" not in table.database else []


def _list_earlier(plan: Any, folder: Path) -> list[Path]:
    """Give the folders of earlier releases that a plan is made with."""
    named = [*getattr(plan.method, "earlier", [])]
    for chosen in plan.compare:
        named += [name for name in chosen.get("earlier", []) if isinstance(name, str)]
    return [folder / name for name in dict.fromkeys(named)]


def _make_method(chosen: dict[str, Any], folder: Path) -> Method:
    principles = [
        make_principle({k: v for k, v in p.items() if v is not None})
        for p in chosen.pop("principles")
    ]
    kind = METHODS[chosen.pop("name")]
    if "earlier" in chosen:
        chosen["earlier"] = [folder / name for name in chosen["earlier"]]
    return kind(reduce(and_, principles), **chosen)


def _list_contenders(written: list[dict[str, Any]], path: Path) -> Iterator[Method]:
    """Spell out the methods to compare: one for every value of what is swept over."""
    model = create_model("Contender", method=(_method_model(), ...))
    for number, entry in enumerate(written, start=1):
        try:
            for chosen in _sweep(entry):
                made: Any = model.model_validate({"method": chosen})
                yield _make_method(made.method.model_dump(), path.parent)
        except ValidationError as error:
            problems = [f"compare entry {number}: {_explain(e)}" for e in error.errors()]
            raise PlanError(
                f"{path.name}: not a plan:\n{list_problems(problems)}",
                hint='Write [[compare]] as [method]; a range as l = "2..8" or '
                "l = { try = [2, 4, 8] }.",
            ) from error
        except DiscreetError as error:
            error.message = f"compare entry {number}: {error.message}"
            raise


def _sweep(entry: Any) -> list[Any]:
    """List everything that an entry stands for.

    >>> _sweep({"name": "x", "l": "2..3"})
    [{'name': 'x', 'l': 2}, {'name': 'x', 'l': 3}]
    """
    if isinstance(entry, str) and (ends := SWEEP.fullmatch(entry)):
        values = list(range(int(ends[1]), int(ends[2]) + 1))
        if not 0 < len(values) <= MOST_TRIED:
            raise PlanError(
                f"{entry!r} stands for {len(values):,} values.",
                hint=f"Give a range from low to high, of at most {MOST_TRIED} values.",
            )
        return values
    if isinstance(entry, dict) and list(entry) == ["try"] and isinstance(entry["try"], list):
        return entry["try"]
    if isinstance(entry, dict):
        return [dict(zip(entry, v, strict=True)) for v in _combine(map(_sweep, entry.values()))]
    if isinstance(entry, list) and any(isinstance(part, dict) for part in entry):
        return [list(values) for values in _combine(map(_sweep, entry))]
    return [entry]


def _combine(parts: Iterable[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Combine every value with every other, unless that is more than anybody would try."""
    listed = list(parts)
    many = prod(map(len, listed))
    if many > MOST_TRIED:
        raise PlanError(
            f"It stands for {many:,} methods.", hint=f"Try at most {MOST_TRIED} in one entry."
        )
    return product(*listed)


def _explain(error: Any) -> str:
    """Say what is wrong with a setting in words, counting entries from 1."""
    # the name of the chosen method or principle is not a place in the file
    chosen = [step for step in error["loc"] if step not in METHODS and step not in PRINCIPLES]
    steps = [f"entry {step + 1}" if isinstance(step, int) else step for step in chosen]
    place, last, given = ".".join(steps[:-1]), steps[-1] if steps else "", error.get("input")
    match error["type"]:
        case "extra_forbidden" if (place, last) == ("release", "seed"):
            return f"release.seed: {NO_SEED}"
        case "extra_forbidden":
            return f"{place}: there is no setting {last!r}"
        case "missing":
            return f"{place}: {last} is missing" if place else f"[{last}] is missing"
        case "union_tag_invalid":
            tags = error["ctx"]["expected_tags"]
            return f"{'.'.join(steps)}: there is no {error['ctx']['tag']!r}; give one of {tags}"
    shown = f" (it says {given!r})" if isinstance(given, str | int | float) else ""
    return f"{'.'.join(steps)}: {error['msg']}{shown}"


def with_overrides(
    plan: Plan, folder: Path | None, format: Format | None, insecure_seed: int | None
) -> Plan:
    """Give the plan with what the command line says instead."""
    return replace(
        plan,
        folder=folder or plan.folder,
        format=format or plan.format,
        insecure_seed=plan.insecure_seed if insecure_seed is None else insecure_seed,
    )
