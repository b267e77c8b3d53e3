"""The demo: a real table, published and audited, told in a few lines."""

from __future__ import annotations

from pathlib import Path

from discreet.auditing import audit
from discreet.datasets import adult
from discreet.principles import FrequencyDiversity, KAnonymity
from discreet.publishing import publish
from discreet.publishing.methods.generalization import Generalization


def run_demo(folder: Path) -> str:
    """Publish Adult under two promises, leave release and report, and tell what happened."""
    data = adult(sensitive="occupation")
    unique = data.count_unique()
    k, l = 10, 3  # noqa: E741
    release = publish(data, Generalization(KAnonymity(k) & FrequencyDiversity(l)))
    target = release.write(folder / "release", overwrite=True)
    found = audit(target, data)
    page = found.to_html(folder / "report.html")
    names = ", ".join(data.quasi_identifiers)
    published = release.tables["generalized"].select(*data.quasi_identifiers, "occupation")
    shown = published[[data.n // 5, data.n // 2, 4 * data.n // 5]]
    rows = "\n".join("  " + " | ".join(map(str, row)) for row in shown.rows())
    return f"""\
{data.n:,} people of the 1994 US census: {names}; occupation is sensitive.

Before: {unique:,} of them ({unique / data.n:.0%}) are unique on these attributes.
  Who knows a neighbour's age, sex, race, marital status, education, origin and work finds the row.

Published: groups of at least {k} people, no occupation above 1/{l} in any of them:
{rows}

After: {found.groups:,} groups, the smallest candidate set has {found.identity.smallest} people.
  Largest belief in anyone's occupation: {found.worst} = {found.max_belief:.0%}. Breaches: \
{found.breaches}.
  Chance of naming the person behind a record: {float(found.identity.marketer):.1%} on average, \
{float(found.identity.prosecutor):.1%} at most.
  Price: {found.loss.ncp:.1%} of precision, most of it on \
{max(found.loss.per_attribute, key=lambda n: found.loss.per_attribute[n])}.

Release: {target} (README.md and datapackage.json explain it)
Report:  {page.absolute()} (open it in a browser; it is yours, do not publish it)"""
