"""Publishing: how a release is made from microdata."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import PromiseError, SchemaError
from discreet.forms.wording import word_people
from discreet.principles.thresholds import require_named
from discreet.publishing.draws import Draws, SeededDraws, SystemDraws
from discreet.publishing.method import Method
from discreet.release import OfPeople, Release
from discreet.table.microdata import Microdata
from discreet.table.people import refuse_repeats


def publish(data: Microdata, method: Method, *, insecure_seed: int | None = None) -> Release:
    """Make a release from microdata.

    The promise is about people. Where some have several rows, of which a key says whose they are,
    the tables keep more of rows, so that it holds.

    What a method draws protects people, and comes from the operating system. With an
    ``insecure_seed`` the same release is made again, by whoever guesses the seed too: that is for
    tests, and such a release is not written unless that is asked for (``insecure=True``).
    """
    refuse_repeats(data)
    _refuse_personal(method)
    require_named(method.principle, data.domains, data.sensitive)
    if insecure_seed is None:
        return _publish(data, method, SystemDraws())
    if insecure_seed < 0:
        raise SchemaError(f"insecure_seed = {insecure_seed}: give a whole number of at least 0.")
    return replace(_publish(data, method, SeededDraws(insecure_seed)), insecure=True)


def _refuse_personal(method: Method) -> None:
    """Refuse what each person asks for where groups are mixed, or made without asking them."""
    for part in method.principle.parts:
        if part.personal and not method.keeps_personal:
            raise SchemaError(
                f"{part} is about what each person guards, which {method.title} does not keep.",
                hint='Use the method "generalization" for it.',
                subject=part,
            )


def _publish(data: Microdata, method: Method, draws: Draws) -> Release:
    """Promise of people what is kept of rows, where some people have several."""
    if data.persons is None:
        return method.publish(data, draws)
    people = OfPeople(method.principle, data.persons.most_rows, data.persons.most_together)
    try:
        made = ask_of_rows(method, data).publish(data, draws)
    except PromiseError as error:
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
