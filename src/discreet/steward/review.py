"""Review: a release examined against the table it was made from, and evidence of what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.auditing import AuditReport, audit, open_earlier
from discreet.auditing.roles import widen
from discreet.errors import MicrodataError
from discreet.forms.disclosure import read_known
from discreet.forms.verify import list_unverifiable
from discreet.release.store import load, load_schema
from discreet.steward.evidence import (
    check_evidence,
    draw_salt,
    gather,
    place_salt,
    read_seal,
    write_evidence,
)
from discreet.table.inference import adopt_spellings
from discreet.table.microdata import Microdata, read
from discreet.table.readers import TableFile, read_table
from discreet.table.text_files import AS_FOUND

if TYPE_CHECKING:
    from discreet.steward.plan import Plan
    from discreet.steward.publication import Stage
    from discreet.table.facts import Progress
    from discreet.table.schema import Schema

NOT_THE_ONE = "This is not what was signed off."


@dataclass(frozen=True)
class Review:
    """What a reviewer asks about a release."""

    release: Path
    microdata: Path
    plan: Plan | None = None
    """A plan to whose promise and roles the release is held, not to its own."""
    person: str | None = None
    cluster: str | None = None
    population: int | None = None
    population_file: Path | None = None
    presets: Sequence[str] = ()
    attacks: bool = False
    control: Path | None = None
    earlier: Sequence[Path] = ()

    @property
    def inputs(self) -> list[Path]:
        """The tables that are read."""
        given = (self.microdata, self.control, self.population_file)
        return [file for file in given if file is not None]

    @cached_property
    def schema(self) -> Schema:
        """The columns of the release, those that a plan has beside them, and the key."""
        schema = load_schema(self.release)
        schema = schema if self.plan is None else widen(self.plan.schema, schema)
        told = schema.people
        key = replace(told, person=self.person or told.person, cluster=self.cluster or told.cluster)
        return replace(schema, people=key)

    def examine(self, stage: Stage, *, evidence: bool = False) -> tuple[AuditReport, Microdata]:
        """Audit the release; evidence has attacks in it whether they were asked for or not."""
        schema = self.schema
        with stage(f"Reading {', '.join(file.name for file in self.inputs)}"):
            data = self._read_people()
            others = None if self.control is None else read(self.control, schema.of_rows)
            known = schema.of_rows.only(schema.quasi_identifiers)
            everyone = None if self.population_file is None else read(self.population_file, known)
        with stage("Auditing and attacking" if self.attacks else "Auditing"):
            found = audit(
                self.release,
                data,
                principle=None if self.plan is None else self.plan.method.principle,
                schema=None if self.plan is None else self.plan.schema,
                population=self.population,
                population_data=everyone,
                presets=list(self.presets),
                attacks=self.attacks or evidence,
                control=others,
                earlier=self.earlier,
            )
        if self.attacks and self.plan is not None:
            from discreet.steward.method_known import attack_method

            assert found.examined is not None
            with stage("Making releases anew, to attack by"):
                told = attack_method(*found.examined, self.plan.method)
            found = replace(found, method_known=told)
        return found, data

    def examine_in_parts(self, means: int | str, progress: Progress) -> AuditReport:
        """Audit a release of a table that memory does not hold, from disk or on a cluster."""
        from discreet.auditing.in_parts import AskedOfParts
        from discreet.steward.beyond_memory import audit_on_disk

        asked = AskedOfParts(list(self.presets), earlier=open_earlier(self.earlier))
        if self.plan is not None:
            asked = replace(asked, principle=self.plan.method.principle, roles=self.plan.schema)
        given = (self.release, self.microdata, self.schema)
        if isinstance(means, int):
            return audit_on_disk(*given, means, asked=asked, progress=progress)
        from discreet.steward.on_cluster import audit_by_cluster

        return audit_by_cluster(*given, means, asked=asked, progress=progress)

    def pack(self, data: Microdata, found: AuditReport, folder: Path) -> tuple[str, Path]:
        """Write evidence and, beside it, the salt of the microdata's digest; give seal and salt."""
        salt = draw_salt()
        pack = gather(self.release, self.microdata, data, found, salt)
        return write_evidence(pack, folder, salt), place_salt(folder)

    def _read_people(self) -> Microdata:
        """Read the table that a release was made from, with all that earlier releases show of it.

        A release does not say how the table is written, of which a plan does.
        """
        schema = self.schema
        try:
            if self.plan is not None:
                table = read_table(self.plan.table)
            else:
                table = read_table(self.microdata)
                schema = adopt_spellings(table, schema)
            return read_known(table, schema, [load(folder) for folder in self.earlier])
        except MicrodataError as error:
            error.hint = "Is this the table the release was made from?"
            raise


def point_plan(wanted: Plan, microdata: Path) -> Plan:
    """Have a plan read its table wherever that lies; only who makes releases needs the rest."""
    told = wanted.table.format if isinstance(wanted.table, TableFile) else AS_FOUND
    return replace(wanted, table=TableFile(microdata, told), remote=None)


def compare(
    evidence: Path, release: Path, microdata: Path | None = None, salt: Path | None = None
) -> tuple[list[str], list[str]]:
    """Say how a release differs from the one that was examined, or in sentences that it does not.

    Problems come first, of which there are none or what is said besides is none.
    """
    problems = check_evidence(evidence, release, microdata, salt)
    if problems:
        return problems, []
    untold = list_unverifiable(load(release))
    told = "what it tells of the promise is kept"
    if not untold:
        told = "every published group keeps the promise"
    return [], [
        f"This is the release that was examined; {told}.",
        *(f"Not told by the release alone: {text}" for text in untold),
        f"Seal of the evidence: {read_seal(evidence)}",
    ]
