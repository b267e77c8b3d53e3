"""Drafting: a commented plan for a table, to be read and changed by a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from discreet.errors import visible
from discreet.publishing.methods import REGISTRY as METHODS
from discreet.publishing.methods.slicing import Slicing
from discreet.table.databases import DatabaseTable, has_password
from discreet.table.schema import Attribute, Missing, Schema
from discreet.table.spelling import PLAIN
from discreet.table.text_files import AS_FOUND, FileFormat


def draft_plan(
    schema: Schema,
    source: str | DatabaseTable,
    *,
    rows: int,
    most_frequent: Mapping[str, Sequence[tuple[str, float]]],
    taxonomies: Mapping[str, str],
    repeats: Mapping[str, int],
    format_: FileFormat = AS_FOUND,
    notes: Mapping[str, Sequence[str]] | None = None,
    asked: Sequence[str] = (),
) -> str:
    """Write a commented plan that runs as it is and is meant to be edited.

    ``most_frequent`` gives the two most frequent values of each sensitive attribute with their
    shares, so that the promise drafted is one the table can keep; ``taxonomies`` the files of those
    that attributes have; ``notes`` what to say of columns besides. The format of dates is left
    out of columns where it is ``asked``.
    """
    lines = [
        "# A plan for `discreet publish`. Check every role: it decides who learns what.",
        "#   identifier        names a person; never leaves",
        "#   quasi-identifier  known to others; published blurred",
        "#   sensitive         must not be learned about a person; published, unlinked",
        "#   other             dropped, unless keep = true publishes it unchanged",
        "# Types: integer, decimal, date, ordinal (with order = [...]), category, boolean.",
        '# missing = "reject", "value" (missing is a value of its own) or "drop" (leave rows out).',
        "# Numbers can be made coarser: top = 90, bottom = 16, round = 5; or aggregate = 5.",
        "# A taxonomy names groups of values, for example:",
        '#   taxonomy = { file = "country.csv" }   ARX, Amnesia or JSON',
        '#   taxonomy = { intervals = [5, 10] }    or prefixes = [3, 1], dates = ["month"]',
        "",
        "[source]",
        *_write_source(source),
        *_write_format(format_),
    ]
    for name, distinct in repeats.items():
        lines += [
            f"# {visible(name)} names people and has {distinct:,} values in {rows:,} rows. Nothing "
            "is published until you say",
            f"# person = {_quote(name)}",
            "# if rows with the same value are of one person (all are published; or say",
            '# most_rows = 3, rows = "one", or rows = "fold" with fold = "…" for columns), or',
            "# rows_are_people = true",
        ]
    for attribute in schema:
        lines += ["", f"[columns.{_quote(attribute.name)}]", f"# {visible(attribute.reason)}"]
        lines += _write_column(attribute, taxonomies.get(attribute.name))
        lines += [f"# {visible(note)}" for note in (notes or {}).get(attribute.name, ())]
        if attribute.name not in asked:
            lines += _write_spelling(attribute)
    lines += [
        "",
        "[method]",
        f"# name: {', '.join(METHODS)}",
        'name = "generalization"',
        *_propose_resistance(schema),
        *_propose_marginals(schema),
        *_propose_noise(),
        "",
        "[[method.principles]]",
        'name = "k-anonymity"',
        f"k = {max(1, min(10, rows // 2))}",
    ]
    for name, ((value, share), *others) in most_frequent.items():
        reach = int(1 / share + 1e-9)
        if not others:
            lines += [
                "",
                f"# {visible(name)} is the same for everybody in the table.",
            ]
            continue
        if reach < 2:
            lines += [
                "",
                "[[method.principles]]",
                f"# one value of {visible(name)} covers {share:.1%} of rows: no group can keep it",
                "# below one half, but nobody's is certain",
                'name = "distinct-diversity"',
                "l = 2",
                f"on = {_quote(name)}",
                *_leave_out(name, value, others),
            ]
            continue
        lines += [
            "",
            "[[method.principles]]",
            f"# the most frequent value of {visible(name)} covers {share:.1%} of rows: l ≤ {reach}",
            'name = "frequency-diversity"',
            f"l = {min(3, reach)}",
            f"on = {_quote(name)}",
            *_propose_nearness(schema[name]),
        ]
    lines += ["", "[release]", 'folder = "release"', 'format = "parquet"', ""]
    return "\n".join(lines)


def _propose_resistance(schema: Schema) -> list[str]:
    """Suggest, as a comment, groups that tell no more by how they were found."""
    if not schema.sensitive:
        return []
    return [
        "# Who knows this method can learn from where groups were not split any further, but not",
        "# with this; groups grow where a sensitive value is frequent (discreet compare tells):",
        '# resist = "method"',
    ]


def _propose_marginals(schema: Schema) -> list[str]:
    """Suggest, as a comment, tables of few attributes each, where there are many."""
    if len(schema.quasi_identifiers) < 3 or not schema.sensitive:
        return []
    return [
        "# A box of many attributes is wide. Several tables of few each, all of which sensitive",
        "# values are safe in together, are chosen for questions about any two attributes by",
        '# name = "angelization"',
        '# marginals = "auto"',
    ]


def _propose_noise() -> list[str]:
    """Suggest, as a comment, the promise that is about no group."""
    return [
        "# Whoever attacks may know anything at all where counts with noise go out, no records.",
        "# Then no belief is bounded, and columns say what values can be (low and high, values):",
        '# name = "noisy-marginals"   # with the principle differential-privacy, epsilon = 1',
    ]


def _write_source(source: str | DatabaseTable) -> list[str]:
    if isinstance(source, str):
        return [f"file = {_quote(source)}"]
    lines = [f"database = {_quote(source.shown)}"]
    if has_password(source.database):
        lines.insert(0, "# the password is taken from PGPASSWORD, or from ~/.pgpass")
    if source.table is not None:
        return [*lines, f"table = {_quote(source.table)}"]
    return [*lines, f"query = {_quote(source.query or '')}"]


def _write_column(attribute: Attribute, taxonomy: str | None) -> list[str]:
    lines = [f"role = {_quote(attribute.role)}", f"type = {_quote(attribute.type)}"]
    if attribute.missing is not Missing.REJECT:
        lines.append(f"missing = {_quote(attribute.missing)}")
    if attribute.na:
        lines.append(f"na = [{', '.join(map(_quote, attribute.na))}]")
    if attribute.order:
        lines.append(f"order = [{', '.join(map(_quote, attribute.order))}]")
    if taxonomy is not None:
        lines.append(f"taxonomy = {{ file = {_quote(taxonomy)} }}")
    if attribute.decimals is not None:
        lines.append(f"decimals = {attribute.decimals}")
    return lines


def _write_spelling(attribute: Attribute) -> list[str]:
    """Say how a column is written, where that is not plain, and what to do with what is not."""
    lines = [
        f"{name} = {_quote(getattr(attribute.spelling, name))}"
        for name in ("decimal", "thousands", "unit", "date_format")
        if getattr(attribute.spelling, name) != getattr(PLAIN, name)
    ]
    if attribute.spelling.last_year is not None:
        lines.append(f"last_year = {attribute.spelling.last_year}")
    if attribute.unreadable != "reject":
        lines.append(f"unreadable = {_quote(attribute.unreadable)}")
    return lines


def _propose_nearness(attribute: Attribute) -> list[str]:
    """Suggest, as a comment, to hide numbers from being told nearly, too."""
    if not attribute.type.numeric:
        return []
    return [
        "# Numbers near the true one tell nearly as much. What can be promised about them shows",
        f"# discreet tradeoff FILE --sensitive {_quote(attribute.name)}; then, for example:",
        "# [[method.principles]]",
        '# name = "proximity"',
        "# epsilon = 1000",
        "# m = 3",
        f"# on = {_quote(attribute.name)}",
    ]


def _write_format(found: FileFormat) -> list[str]:
    """Say how a file was read, where that is not what everybody would expect."""
    lines = []
    if found.encoding not in (None, "utf-8"):
        lines.append("# found by its bytes: look whether names in the release are spelled right")
        lines.append(f"encoding = {_quote(found.encoding or '')}")
    if found.separator not in (None, ","):
        lines.append(f"separator = {_quote(found.separator or '')}")
    return lines


def _leave_out(name: str, value: str, others: Sequence[tuple[str, float]]) -> list[str]:
    """Suggest, as a comment, not to count a value that most people have."""
    reach = int(1 / others[0][1] + 1e-9)
    return [
        "# If to have that value tells nothing about a person, it need not count:",
        "# [[method.principles]]",
        '# name = "frequency-diversity"',
        f"# l = {min(3, reach)}",
        f"# on = {_quote(name)}",
        f'# values = {{ {_quote(value)} = "any" }}',
    ]


def _quote(text: str) -> str:
    return visible(json.dumps(str(text), ensure_ascii=False))


def draft_buckets(method: Slicing) -> str:
    """Write what a plan says under ``[method]`` of random buckets and their columns.

    >>> from discreet.principles import KAnonymity
    >>> print(draft_buckets(Slicing(KAnonymity(2), columns=[["age"], ["job"]], buckets=8)))
    buckets = 8
    columns = [["age"], ["job"]]
    """
    assert not isinstance(method.columns, int)
    columns = ", ".join(f"[{', '.join(map(_quote, column))}]" for column in method.columns)
    return f"buckets = {method.buckets}\ncolumns = [{columns}]"
