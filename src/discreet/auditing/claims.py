"""Claims: is what a release says of itself what follows from its promise, and from the microdata?

A forger may change any word of a manifest and seal it anew. What can be worked out again is: the
sentences from the promise, parameters from tables, domains from the microdata.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.forms import find_form
from discreet.forms.wording import ESTIMATED, word_people
from discreet.release import Recoding, Release, Transformation
from discreet.release.selection import find_positions
from discreet.table.arrays import Bools
from discreet.table.domain import MISSING, Domain
from discreet.table.microdata import Microdata
from discreet.table.schema import Missing, Role


def find_false_claims(
    release: Release, data: Microdata, covered: Bools
) -> tuple[list[str], list[str]]:
    """List what a release says that is not so; and what it says that nobody can check.

    ``covered`` are the rows that it shows: those that are left out must not be in its domains.
    """
    findings, notes = _compare_words(release)
    findings += _compare_parameters(release)
    findings += find_form(release.form).find_odd_parameters(release, data)
    if release.left_out:
        data = data.taken(np.flatnonzero(covered)).narrowed()
    findings += _compare_attributes(release, data)
    return findings, notes


def _compare_words(release: Release) -> tuple[list[str], list[str]]:
    """Hold the sentences against those that its form has for such a promise.

    Another method than those the form knows may leave more open, which is noted.
    """
    form = find_form(release.form)
    words = form.word(release)
    if words is None:
        return [], []
    promise, about = words
    if release.promise.people is not None:
        promise, about = word_people(promise, about, release.promise.people)
    findings = []
    if release.promise.guarantee != promise.guarantee:
        findings.append(f"its guarantee does not say what it promises: {promise.guarantee}")
    for text in promise.leaves_open:
        if text not in release.promise.leaves_open:
            findings.append(f"it does not say what it leaves open: {text}")
    for title, text in release.about.items():
        if about.get(title, text) != text:
            findings.append(f"what it says of the rows of {title} is not so: {about[title]}")
    said = (*promise.leaves_open, ESTIMATED)
    more = [text for text in release.promise.leaves_open if text not in said]
    besides = [f"it says besides that it leaves open: {text}" for text in more]
    return ([*findings, *besides], []) if release.method in form.methods else (findings, besides)


def _compare_parameters(release: Release) -> list[str]:
    """Hold parameters against those of the method, where its form knows it."""
    form = find_form(release.form)
    known = form.methods.get(release.method)
    if known is None:
        return []
    findings = []
    for name in known.keys() | release.parameters.keys():
        choices, given = known.get(name), release.parameters.get(name)
        if name not in known:
            findings.append(f"{release.method} has no parameter {name!r}")
        elif choices is not None and given not in choices:
            findings.append(f"{name} = {given!r} is no choice it has")
        elif choices is None and name not in {*release.parameters, *form.optional}:
            findings.append(f"its {name} is not told")
    return sorted(findings)


def _compare_attributes(release: Release, data: Microdata) -> list[str]:
    """Hold domains, empty cells and taxonomies against the microdata, attribute by attribute."""
    form, schema, findings = find_form(release.form), data.public_schema, []
    for attribute in release.schema:
        name, recoding = attribute.name, release.recodings[attribute.name]
        domain, ours = data.domains[attribute.name], schema[attribute.name]
        if not recoding.is_blurred and recoding.transformation != form.transform(attribute.role):
            findings.append(f"{name} is not {recoding.transformation} in a {form.name} release")
        if recoding.is_blurred and attribute.role is not Role.QUASI_IDENTIFIER:
            findings.append(f"{name} is blurred, but no quasi-identifier")
        loose = form.public_domains or release.parameters.get("ends") == "cuts"
        if recoding.public and not loose:
            findings.append(f"the domain of {name} is called public, but boxes end at people")
        # boxes that end at cuts do not tell whether anybody's value is missing, where that is one
        # and of a record of nobody it may be missing though everybody has one
        faked = attribute.role is Role.SENSITIVE and release.views[0].nobodys > 0
        untold = (loose or faked) and attribute.missing is Missing.VALUE and recoding.missing
        if recoding.missing != domain.missing and not untold:
            has = "has" if domain.missing else "has no"
            findings.append(f"{name} {has} empty cells in the microdata")
        findings += _compare_domain(recoding, domain)
        if (attribute.missing, attribute.na) != (ours.missing, ours.na):
            findings.append(f"empty cells of {name} were not read as the release says")
        listed = None if form.public_domains else ours.taxonomy
        if attribute.role is Role.SENSITIVE and attribute.taxonomy != listed:
            findings.append(f"the taxonomy of {name} is not that of the microdata")
    return findings


def _compare_domain(recoding: Recoding, domain: Domain) -> list[str]:
    """Hold a domain against the values of the microdata; a public one has to hold them all."""
    name = domain.attribute.name
    if recoding.transformation == Transformation.INTERVAL:
        ends = [domain.texts[0], domain.texts[len(domain.values) - 1]]
        good = recoding.domain == ends
        if recoding.public and len(domain.values):
            both = pl.Series([*recoding.domain, *ends], dtype=pl.String)
            low, high, first, last = find_positions(both, domain.attribute).tolist()
            good = low <= first and last <= high
        return [] if good else [f"{name} goes from {ends[0]} to {ends[1]} in the microdata"]
    if recoding.transformation == Transformation.SET:
        named, own = (sorted(t for t in texts if t != MISSING)
                      for texts in (recoding.domain, domain.texts))  # fmt: skip
        good = set(own) <= set(named) if recoding.public else own == named
        if not good or (MISSING in recoding.domain) != recoding.missing:
            return [f"the values of {name} are not those of the microdata"]
    return []
