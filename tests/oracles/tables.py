"""Tiny tables at random, and for every method what it is asked to make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import polars as pl

import discreet as dc
from discreet.publishing import Method

ORDER = ("low", "mid", "high")
CITIES = dc.Taxonomy.from_paths(
    [["Bonn", "west"], ["Köln", "west"], ["Jena", "east"], ["Gera", "east"]]
)


@dataclass(frozen=True)
class Drawn:
    """A table, what to make of it, and what the audit is asked about it."""

    frame: pl.DataFrame
    schema: dc.Schema
    method: Method
    judged: dc.Principle | None
    """What is asked of it by itself; nothing where only the two together are looked at."""
    left_out: Sequence[str] = ()
    """What it does not show, where there is an earlier release."""
    earlier: Method | None = None
    left_out_earlier: Sequence[str] = ()

    @property
    def people(self) -> list[dict[str, Any]]:
        return self.frame.to_dicts()

    def read(self, *left_out: str) -> dc.Microdata:
        kept = [name for name in self.frame.columns if name not in left_out]
        return dc.read(self.frame.select(kept), self.schema.only(kept))


def draw_table(
    rng: Random, sensitive: Sequence[str], known: Sequence[str], taxonomies: bool = False
) -> tuple[pl.DataFrame, dc.Schema]:
    """Draw a table of 4 to 7 people; few values, so that people look alike now and then."""
    n = rng.randint(4, 7)
    attributes, columns = [], {}
    for name in known:
        kind = rng.choice(["number", "number", "category", "category", "ordinal"])
        many = rng.choice([2, 3, 4, 6])
        tree: dc.Taxonomy | dc.Intervals | None = None
        kwargs: dict[str, Any] = {}
        if kind == "number":
            choices, typed = [rng.randint(1, 3) * 10 + i for i in range(many)], dc.Type.INTEGER
            tree = dc.Intervals((2, 10), origin=0)
        elif kind == "ordinal":
            choices, typed, kwargs = list(ORDER[: max(many, 2)]), dc.Type.ORDINAL, {"order": ORDER}
        else:
            choices, typed = ["Bonn", "Köln", "Jena", "Gera"][:many], dc.Type.CATEGORY
            tree = CITIES
        if rng.random() < 0.2:
            choices = [*choices, None]
        columns[name] = rng.choices(choices, k=n)
        attributes.append(
            dc.Attribute(
                name,
                dc.Role.QUASI_IDENTIFIER,
                typed,
                missing=dc.Missing.VALUE,
                taxonomy=tree if taxonomies and rng.random() < 0.7 else None,
                **kwargs,
            )
        )
    for name in sensitive:
        numeric = name.startswith("pay")
        many = rng.randint(2, 4)
        choices = sorted(rng.sample(range(1, 30), rng.randint(2, 7))) if numeric else "abcd"[:many]
        columns[name] = rng.choices(choices, k=n)
        typed = dc.Type.INTEGER if numeric else dc.Type.CATEGORY
        attributes.append(dc.Attribute(name, dc.Role.SENSITIVE, typed))
    frame = pl.DataFrame(columns, schema={c: _dtype(v) for c, v in columns.items()})
    return frame, dc.Schema(tuple(attributes))


def _dtype(values: list[Any]) -> type[pl.DataType]:
    return pl.Int64 if any(isinstance(v, int) for v in values) else pl.String


def draw_principle(rng: Random, name: str, *, k: bool = True) -> dc.Principle:
    """Draw something to promise of one sensitive attribute; weak ones are drawn more often."""
    options: list[dc.Principle] = [
        dc.FrequencyDiversity("4/3", on=name),
        dc.FrequencyDiversity("3/2", on=name),
        dc.FrequencyDiversity(2, on=name),
        dc.FrequencyDiversity(3, on=name),
        dc.DistinctDiversity(2, on=name),
        dc.EntropyDiversity("3/2", on=name),
        dc.RecursiveDiversity(2, 2, on=name),
        dc.TCloseness("2/5", on=name),
    ]
    if k:
        options += [dc.KAnonymity(2), dc.KAnonymity(3), dc.AlphaK("2/3", 2, on=name)]
    if name.startswith("pay"):
        options += [
            dc.KE(2, rng.randint(1, 8), on=name),
            dc.Variance(rng.randint(1, 20), on=name),
            dc.TCloseness("2/5", "ordered", on=name),
        ]
    return rng.choice(options)


def draw_proximity(rng: Random, name: str) -> dc.Proximity:
    m = rng.choice([2, 2, 2, 3])
    if rng.random() < 0.25:
        return dc.Proximity(rng.choice(["1/4", "1/2"]), m, relative=True, on=name)
    if rng.random() < 0.2:
        return dc.Proximity((rng.randint(0, 5), rng.randint(0, 5)), m, on=name)
    return dc.Proximity(rng.randint(0, 8), m, on=name)


def _some(rng: Random, least: int = 1) -> list[str]:
    return ["q", "r", "s"][: rng.randint(least, 3)]


def _value(rng: Random) -> str:
    return rng.choice(["ill", "pay"])


def _draw(
    rng: Random, known: list[str], told: list[str], method: Method, taxonomies: bool = False
) -> Drawn:
    frame, schema = draw_table(rng, told, known, taxonomies)
    judged: dc.Principle = draw_principle(rng, rng.choice(told))
    if told[0].startswith("pay") and rng.random() < 0.3:
        judged = draw_proximity(rng, told[0])
    return Drawn(frame, schema, method, judged)


def draw_generalization(rng: Random) -> Drawn:
    name = _value(rng)
    return _draw(rng, _some(rng), [name], dc.Generalization(draw_principle(rng, name)))


def draw_proximate(rng: Random) -> Drawn:
    dealing = rng.choice(["local", "round-robin"])
    method = dc.Generalization(draw_proximity(rng, "pay"), dealing=dealing)
    return _draw(rng, _some(rng), ["pay"], method)


def draw_several_values(rng: Random) -> Drawn:
    told = ["pay", "ill"]
    promise = draw_principle(rng, "pay") & draw_principle(rng, "ill")
    return _draw(rng, _some(rng), told, dc.Generalization(promise))


def draw_two(kind: type[Method]) -> Callable[[Random], Drawn]:
    """Draw two sensitive attributes, told apart."""

    def draw(rng: Random) -> Drawn:
        told = ["pay", "ill"]
        promise = draw_principle(rng, "pay", k=False) & draw_principle(rng, "ill", k=False)
        return _draw(rng, _some(rng), told, kind(promise))

    return draw


def draw_full_domain(rng: Random) -> Drawn:
    name = _value(rng)
    method = dc.FullDomain(draw_principle(rng, name))
    return _draw(rng, _some(rng), [name], method, taxonomies=True)


def draw_suppressed(title: str) -> Callable[[Random], Drawn]:
    """Draw tables of which up to half of the people may show ``*``."""

    def draw(rng: Random) -> Drawn:
        name = _value(rng)
        kind = dc.FullDomain if title == "full-domain" else dc.Generalization
        method = kind(draw_principle(rng, name), suppress="1/2")
        return _draw(rng, _some(rng), [name], method, taxonomies=title == "full-domain")

    return draw


def draw_angelization(rng: Random) -> Drawn:
    name = _value(rng)
    method = dc.Angelization(draw_principle(rng, name), k=rng.choice([2, 2, 3]))
    return _draw(rng, _some(rng), [name], method)


def draw_marginals(rng: Random) -> Drawn:
    name, known = _value(rng), _some(rng, 2)
    marginals: list[list[str]] = [[n] for n in known]
    if len(known) == 3:
        marginals = rng.choice([marginals, [["q", "r"], ["s"]], [["q", "r"], ["r", "s"]]])
    method = dc.Angelization(
        draw_principle(rng, name), k=rng.choice([2, 2, 3]), marginals=marginals
    )
    return _draw(rng, known, [name], method)


def draw_projections(rng: Random) -> Drawn:
    """Draw tables some of which tell no batch, and may show what no other does."""
    name, known = _value(rng), _some(rng, 2)
    method = dc.Angelization(
        draw_principle(rng, name),
        k=rng.choice([2, 2, 3]),
        marginals=rng.choice([[known], [known[:-1]], [[n] for n in known]]),
        projections=rng.choice([[known], [known[-2:], known[:1]], [[n] for n in known]]),
    )
    return _draw(rng, known, [name], method)


def draw_anatomy(rng: Random) -> Drawn:
    name = _value(rng)
    return _draw(rng, _some(rng), [name], dc.Anatomy(draw_principle(rng, name, k=False)))


def draw_permutation(rng: Random) -> Drawn:
    objective = rng.choice(["sum", "max", "max-overlapping", "groups", "random"])
    method = dc.Permutation(dc.KE(2, rng.randint(1, 6)), objective=objective)
    return _draw(rng, _some(rng), ["pay"], method)


def draw_bounded(rng: Random) -> Drawn:
    promise = rng.choice([
        dc.FrequencyDiversity(rng.choice([2, "3/2"])),
        dc.Proximity(rng.randint(0, 2), 2),
        dc.KE(2, rng.randint(1, 4)) & dc.FrequencyDiversity(2),
        dc.KE(2, 2) & dc.Proximity(1, 2),
    ])  # fmt: skip
    return _draw(rng, _some(rng), ["pay"], dc.Permutation(promise))


def draw_slices(
    columns: int, *, beside: bool = False, scattered: bool = False, printed: bool = False
) -> Callable[[Random], Drawn]:
    """Draw slices of so many columns, with or without a quasi-identifier beside the value."""

    def draw(rng: Random) -> Drawn:
        name = _value(rng)
        known = ["q", "r", "s"][: rng.randint(columns if beside else columns - 1, 3)]
        last = [known[-1]] if beside else []
        first = known[:-1] if beside else known
        parts = [[n] for n in first]
        while len(parts) > columns - 1:
            parts = [parts[0] + parts[1], *parts[2:]]
        promise = draw_principle(rng, name)
        if beside and rng.random() < 0.5:  # few tables of so few people keep another one
            promise = dc.KAnonymity(rng.choice([2, 3]))
        if printed:
            promise = dc.FrequencyDiversity(rng.choice(["4/3", "3/2", 2]), on=name)
        method = dc.Slicing(
            promise,
            columns=[*parts, [*last, name]],
            buckets=rng.choice([2, 3, 4]) if scattered else "mondrian",
            check="paper" if printed else "safe",
            frequency=rng.choice([1, 1, 1, 2]),
        )
        return _draw(rng, known, [name], method)

    return draw


def draw_shared(*told: str) -> Callable[[Random], Drawn]:
    """Draw slices of which some columns share a quasi-identifier."""

    def draw(rng: Random) -> Drawn:
        names = [*told] or [_value(rng)]
        first, second = names[0], names[-1]
        shapes = [
            [["q"], ["r", first], ["r", second]], [["q", "r"], ["r", first], [second]],
        ] if told else [
            [["q", "r"], ["r", "s"], [first]], [["q", "r"], ["s"], ["r", first]],
            [["q"], ["r", "s"], ["r", first]], [["q"], ["s"], ["r"], ["r", first]],
        ]  # fmt: skip
        promises = [draw_principle(rng, name, k=not told) for name in names]
        promise = promises[0] & promises[1] if told else promises[0]
        if rng.random() < 0.4:  # few tables of so few people keep another one
            promise = dc.KAnonymity(rng.choice([2, 3]))
        method = dc.Slicing(
            promise, columns=rng.choice(shapes), buckets=rng.choice(["mondrian", 2, 3, 4])
        )
        return _draw(rng, ["q", "r"] if told else ["q", "r", "s"], names, method)

    return draw


def draw_pair(rng: Random) -> Drawn:
    """Draw two releases of the same people, who are known by one attribute in each."""
    name = _value(rng)
    promise = rng.choice([
        dc.FrequencyDiversity("3/2", on=name), dc.FrequencyDiversity(2, on=name),
        dc.DistinctDiversity(2, on=name),
    ])  # fmt: skip

    def choose(known: str) -> Method:
        return rng.choice([
            dc.Generalization(promise), dc.Anatomy(promise), dc.Angelization(promise, k=2),
            dc.Slicing(promise, columns=[[known], [name]]),
        ])  # fmt: skip

    frame, schema = draw_table(rng, [name], ["q", "r"])
    return Drawn(frame, schema, choose("r"), None, ["q"], choose("q"), ["r"])


def draw_sequential(rng: Random) -> Drawn:
    """Draw a table to be released after another one, with which it shares an attribute."""
    frame, schema = draw_table(rng, ["ill", "job"], ["q", "r"], taxonomies=True)
    old = dc.Generalization(rng.choice([
        dc.KAnonymity(1), dc.KAnonymity(2), dc.FrequencyDiversity("4/3", on="ill"),
    ]))  # fmt: skip
    held = dc.publish(Drawn(frame, schema, old, None).read("r", "job"), old)
    method = dc.Sequential(principles=[_draw_linking(rng)], earlier=[held])
    return Drawn(frame, schema, method, _draw_linking(rng), ["ill"], old, ["r", "job"])


def _draw_linking(rng: Random) -> dc.Principle:
    x = rng.choice([["q"], ["r"], ["q", "r"]])
    return rng.choice([
        dc.XYAnonymity(x=x, y="people", k=2),
        dc.XYAnonymity(x=x, y=["ill"], k=2),
        dc.XYLinkability(x=x, y=["ill"], k=rng.choice(["1/2", "2/3", "3/4"])),
    ])  # fmt: skip


SETUPS: dict[str, Callable[[Random], Drawn]] = {
    "generalization": draw_generalization,
    "generalization, (ε,m)": draw_proximate,
    "generalization, two sensitive": draw_several_values,
    "generalization, suppressed": draw_suppressed("generalization"),
    "full-domain": draw_full_domain,
    "full-domain, suppressed": draw_suppressed("full-domain"),
    "angelization": draw_angelization,
    "angelization, several marginals": draw_marginals,
    "angelization, projections": draw_projections,
    "anatomy": draw_anatomy,
    "anatomy, two sensitive": draw_two(dc.Anatomy),
    "permutation": draw_permutation,
    "permutation, beliefs bounded": draw_bounded,
    "slicing, 2 columns": draw_slices(2),
    "slicing, 3 columns": draw_slices(3),
    "slicing, two sensitive": draw_two(dc.Slicing),
    "slicing, beside the value": draw_slices(2, beside=True),
    "slicing, 3 columns, beside the value": draw_slices(3, beside=True),
    "slicing, random buckets": draw_slices(2, scattered=True),
    "slicing, random buckets, 3 columns": draw_slices(3, scattered=True),
    "slicing, random buckets, beside the value": draw_slices(2, beside=True, scattered=True),
    "slicing, shared": draw_shared(),
    "slicing, shared, two sensitive": draw_shared("pay", "ill"),
    "slicing, the paper's check": draw_slices(2, beside=True, printed=True),
    "sequential": draw_sequential,
}
TOGETHER: dict[str, Callable[[Random], Drawn]] = {"two releases": draw_pair}
"""What is known to say too little: beliefs from several releases are fitted, not counted."""
