"""Publishing: how a release is made from microdata."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from discreet.errors import PromiseError, SchemaError
from discreet.forms.wording import word_people
from discreet.principles.thresholds import require_named
from discreet.publishing.draws import Draws, SeededDraws, SystemDraws
from discreet.publishing.method import Method
from discreet.release import OfPeople, Release
from discreet.table.microdata import Microdata
from discreet.table.people import refuse_repeats
from discreet.table.schema import Schema, Type
from discreet.table.spark_frames import is_spark_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from discreet.auditing import AuditReport


@overload
def publish(data: Microdata, method: Method, *, insecure_seed: int | None = None) -> Release: ...


@overload
def publish(
    data: DataFrame,
    method: Method,
    *,
    schema: Schema,
    folder: str | Path,
    overwrite: bool = False,
) -> AuditReport: ...


def publish(
    data: Microdata | DataFrame,
    method: Method,
    *,
    insecure_seed: int | None = None,
    schema: Schema | None = None,
    folder: str | Path | None = None,
    overwrite: bool = False,
) -> Release | AuditReport:
    """Make a release from microdata.

    The promise is about people. Where some have several rows, of which a key says whose they are,
    the tables keep more of rows, so that it holds.

    What a method draws protects people, and comes from the operating system. With an
    ``insecure_seed`` the same release is made again, by whoever guesses the seed too: that is for
    tests, and such a release is not written unless that is asked for (``insecure=True``).

    ``data`` may also be a DataFrame of Spark, with a ``schema`` and the ``folder`` of the release,
    which this process and all workers see under the same path. The cluster of its session makes
    the release where the rows are, and it is put in place once it is audited; what the audit found
    is given back. If that is a breach, it is raised and nothing is published.
    """
    if not isinstance(data, Microdata):
        return _publish_frame(data, method, insecure_seed, schema, folder, overwrite=overwrite)
    if schema is not None or folder is not None or overwrite:
        raise SchemaError(
            "schema, folder and overwrite are for frames of Spark: microdata has a schema.",
            hint="Leave them out, and write the release: release.write(folder).",
        )
    refuse_repeats(data)
    _refuse_personal(method)
    _refuse_drawn(method)
    _refuse_sets(data, method)
    require_named(method.principle, data.domains, data.sensitive)
    if insecure_seed is None:
        return _publish(data, method, SystemDraws())
    if insecure_seed < 0:
        raise SchemaError(f"insecure_seed = {insecure_seed}: give a whole number of at least 0.")
    return replace(_publish(data, method, SeededDraws(insecure_seed)), insecure=True)


def _publish_frame(
    frame: DataFrame,
    method: Method,
    insecure_seed: int | None,
    schema: Schema | None,
    folder: str | Path | None,
    *,
    overwrite: bool,
) -> AuditReport:
    if not is_spark_frame(frame):
        raise SchemaError(
            f"A {type(frame).__name__} is neither microdata nor a DataFrame of Spark.",
            hint="Read it first: dc.publish(dc.read(table, schema), method).",
        )
    if insecure_seed is not None:
        raise SchemaError("insecure_seed: decides nothing on a cluster.", hint="Leave it out.")
    if schema is None or folder is None:
        lacking = "schema" if schema is None else "folder"
        raise SchemaError(
            f"To publish a DataFrame of Spark, give its {lacking}.",
            hint="dc.publish(frame, method, schema=…, folder=…); dc.Schema.infer takes a sample: "
            "frame.limit(10_000).toPandas().",
        )
    from discreet.steward.on_cluster import publish_frame

    return publish_frame(frame, method, schema, Path(folder), overwrite=overwrite)


def _refuse_personal(method: Method) -> None:
    """Refuse what each person asks for where groups are mixed, or made without asking them."""
    for part in method.principle.parts:
        if part.personal and not method.keeps_personal:
            raise SchemaError(
                f"{part} is about what each person guards, which {method.title} does not keep.",
                hint='Use the method "generalization" for it.',
                subject=part,
            )


def _refuse_drawn(method: Method) -> None:
    """Refuse what no group that is shown satisfies where groups are shown."""
    for part in method.principle.parts:
        if part.drawn and not method.keeps_drawn:
            raise SchemaError(
                f"{part} is about how a release is drawn, and {method.title} shows groups as they "
                "are.",
                hint='Use the method "noisy-marginals" for it.',
                subject=part,
            )


def _refuse_sets(data: Microdata, method: Method) -> None:
    """Refuse to publish sets of items by what takes every set for one value."""
    names = [a.name for a in data.schema.published if a.type is Type.SET]
    if names and not method.takes_sets:
        raise SchemaError(
            f"Column {names[0]!r} is a set of items, which {method.title} does not publish.",
            hint='Use the method "apriori" for it, or give the column the role other.',
            subject=data.schema[names[0]],
        )


def _publish(data: Microdata, method: Method, draws: Draws) -> Release:
    """Promise of people what is kept of rows, where some people have several."""
    if data.persons is None:
        return method.publish(data, draws)
    people = OfPeople(method.principle, data.persons.most_rows, data.persons.most_together)
    try:
        made = ask_of_rows(method, data).publish(data, draws)
    except PromiseError as error:
        if method.keeps_drawn:  # it takes one row of everybody, and fewer rows are no remedy
            raise
        error.hint = (
            f"People have up to {people.rows} rows here, so {method.principle} of people takes "
            "that much more of rows. Publish fewer of them (most_rows), one of everybody "
            f'(rows = "one"), or fold them (rows = "fold"). {error.hint or ""}'
        ).strip()
        raise
    promise, about = word_people(made.promise, made.about, people)
    return replace(made, promise=promise, about=about)


def ask_of_rows(method: Method, data: Microdata) -> Method:
    """Give the method that keeps of rows what is enough for the people of a table."""
    if data.persons is None:
        return method
    together = 1 if method.counts_people else data.persons.most_together
    return replace(method, principle=method.principle.over_rows(data.persons.most_rows, together))


__all__ = ["Method", "ask_of_rows", "publish"]
