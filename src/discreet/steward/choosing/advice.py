"""Advice: which method for which purpose, why, and what that does not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from discreet.evaluate.questions import Errors
from discreet.forms.adversaries import word_withstood
from discreet.steward.choosing.trial import Trial

PURPOSES = {
    "count": "counts of people with some values",
    "range": "counts over ranges of numbers",
    "sum": "sums of a sensitive number",
    "average": "averages of a sensitive number",
    "own": "your own questions",
}
NEAR, LITTLE = 0.1, 0.001
"""Errors that differ by less than this share of the larger one, or by this, count as the same."""
USELESS = 0.5
"""Where half of the answers are off by more than this, a release fails the purpose."""


class Bar(NamedTuple):
    """The belief in anybody's value up to which releases are compared, and why that one."""

    belief: float | None
    why: str = "as asked"


class Advice(NamedTuple):
    """A sentence and, where it recommends a release, the purpose and the trial."""

    text: str
    purpose: str | None = None
    trial: Trial | None = None


def name_trials(trials: Sequence[Trial]) -> list[str]:
    """Name each trial as briefly as tells it from the others.

    >>> name_trials([Trial("a", "p", ""), Trial("b", "p", ""), Trial("b", "q", "")])
    ['a', 'b, p', 'b, q']
    """
    times = Counter(t.method for t in trials)
    return [t.method if times[t.method] == 1 else t.label for t in trials]


def advise(
    trials: Sequence[Trial],
    original: float | None,
    chance: float | None,
    bar: Bar | None = None,
    tested: int = 0,
    purposes: Sequence[str] = (),
) -> list[Advice]:
    """Say in sentences which method serves which purpose, at a privacy that can be compared.

    That is where nobody's value is believed with more than the ``bar`` allows, or what half of the
    methods reach. Of ``purposes`` that the steward named, a release must serve all.
    """
    names = dict(zip(map(id, trials), name_trials(trials), strict=True))
    made = [t for t in trials if t.problem is None]
    if not made:
        return [Advice("No method could keep its promise on this table: ask for less, or change "
                       "roles.")]  # fmt: skip
    bar, reached, beyond = _find_level(made, bar)
    told = []
    if bar.belief is not None:
        told.append(Advice(
            f"Compared where nobody's value is believed with more than {bar.belief:.0%}: {bar.why}."
            + (f" Out of that: {', '.join(beyond)}." if beyond else "")
        ))  # fmt: skip
    if purposes:
        failing = [(t, why) for t in reached if (why := _fail(t, purposes))]
        reached = [t for t in reached if not _fail(t, purposes)]
        told += [Advice(f"Left out: {names[id(t)]} {why}.") for t, why in failing]
    for kind, purpose in PURPOSES.items():
        if not purposes or kind in purposes:
            told += _recommend(kind, purpose, reached, names)
    told += _recommend_models(reached, original, chance, tested, names)
    told += _recommend_hiding(made, names)
    told += _tell_withstood(made, names)
    told += [Advice(f"{names[id(t)]}: {t.problem}") for t in trials if t.problem is not None]
    told.append(Advice(
        "What this does not say: errors are those of questions drawn from this one table; yours "
        "may differ, and can be given. Belief is what a person's quasi-identifiers let others "
        "believe, not what background knowledge adds. What each method leaves open stands in its "
        "release."
    ))  # fmt: skip
    return told


def _find_level(
    made: Sequence[Trial], bar: Bar | None
) -> tuple[Bar, list[Trial], list[str]]:  # fmt: skip
    """Find the belief to compare at, who stays below it, and which methods never do."""
    known = [(t, t.worst_belief) for t in made if t.worst_belief is not None]
    if not known:
        return Bar(None), list(made), []
    best: dict[str, float] = {}
    for t, worst in known:
        best[t.method] = min(worst, best.get(t.method, 1.0))
    if bar is None or bar.belief is None:
        bar = Bar(sorted(best.values())[len(best) // 2], "what half of the methods reach")
    level = bar.belief or 0.0
    reached = [t for t, worst in known if worst <= level + 1e-9]
    beyond = [f"{name} ({least:.0%} at best)" for name, least in best.items()
              if least > level + 1e-9]  # fmt: skip
    return bar, reached, beyond


def _fail(trial: Trial, purposes: Sequence[str]) -> str:
    """Say for which of the purposes a release is of no use; nothing if it serves them all."""
    for kind in purposes:
        if kind in trial.unanswered:
            return f"does not answer all questions about {PURPOSES[kind]}"
        if _is_useless(trial.errors.get(kind)):
            return (f"fails for {PURPOSES[kind]}: half of its answers are off by more than "
                    f"{trial.errors[kind].median:.0%}")  # fmt: skip
    return ""


def _is_useless(errors: Errors | None) -> bool:
    return errors is not None and errors.median > USELESS


def _recommend(
    kind: str, purpose: str, reached: Sequence[Trial], names: dict[int, str]
) -> list[Advice]:
    """Name the best that answers all questions of a kind, and those that are as good."""
    asked = [t for t in reached if kind in t.errors and kind not in t.unanswered]
    refused = sorted({t.method for t in reached if kind in t.unanswered})
    left = f"; not all are answered by {', '.join(refused)}" if refused else ""
    ranked = sorted((t for t in asked if not _is_useless(t.errors[kind])),
                    key=lambda t: t.errors[kind].median)  # fmt: skip
    if not ranked and asked:
        least = min(t.errors[kind].median for t in asked)
        return [Advice(f"For {purpose}: none of these; half of the answers are off by more than "
                       f"{least:.0%} at best{left}.", kind)]  # fmt: skip
    if not ranked:
        return [Advice(f"For {purpose}: none of these{left}.", kind)] if refused else []
    # of those that are as good, the one that shows least who is in the table
    good = [t for t in ranked if _is_near(ranked[0].errors[kind], t.errors[kind])]
    first = min(good, key=lambda t: (t.membership or 1.0, t.errors[kind].median))
    error = first.errors[kind]
    text = (f"For {purpose}: {names[id(first)]}; half of {error.questions:,} answers are off by at "
            f"most {error.median:.1%}, nine of ten by at most {error.high:.1%}")  # fmt: skip
    equals = list(dict.fromkeys(t.method for t in good if t.method != first.method))
    others = [t for t in ranked if t.method != first.method]
    if equals:
        text += f"; {', '.join(equals)} {'is' if len(equals) == 1 else 'are'} as good"
    elif others:
        text += f"; next {names[id(others[0])]} with {others[0].errors[kind].median:.1%}"
    return [Advice(f"{text}{left}. {_limit(first)}", kind, first)]


def _is_near(best: Errors, other: Errors) -> bool:
    """Whether answers are as good, in the middle and where they are bad."""
    pairs = ((best.median, other.median), (best.high, other.high))
    return all(b - a <= max(NEAR * b, LITTLE) for a, b in pairs)


def _limit(trial: Trial) -> str:
    """Say what comes with a choice."""
    told = []
    if trial.worst_belief is not None:
        told.append(f"Somebody's value is believed with {trial.worst_belief:.0%}.")
    if trial.membership is not None:
        among = f"members are told from others in {trial.membership:.0%} of pairs (chance: 50%)"
        if trial.exact:
            told.append(
                f"It publishes exact quasi-identifiers, so membership is not hidden: {among}."
            )
        else:
            told.append(f"{among[0].upper()}{among[1:]}.")
    return " ".join(told)


def _recommend_models(
    reached: Sequence[Trial],
    original: float | None,
    chance: float | None,
    tested: int,
    names: dict[int, str],
) -> list[Advice]:
    """Name what models learn most from, where that is more than chance."""
    ranked = sorted(
        (t for t in reached if t.accuracy is not None), key=lambda t: -(t.accuracy or 0)
    )
    if not ranked or original is None or chance is None:
        return []
    first = ranked[0]
    sure = chance + 2 * (chance * (1 - chance) / max(tested, 1)) ** 0.5 if tested else chance
    if first.accuracy is not None and first.accuracy <= sure:
        return [Advice(
            "To train models: none of them; no tree was surely better than always guessing the "
            f"commonest value ({chance:.1%}; trained on the original: {original:.1%}).", "model"
        )]  # fmt: skip
    return [Advice(
        f"To train models: {names[id(first)]}; a decision tree is right about "
        f"{first.accuracy:.1%} of other people (trained on the original: {original:.1%}, by "
        f"chance: {chance:.1%}).", "model", first
    )]  # fmt: skip


def _recommend_hiding(made: Sequence[Trial], names: dict[int, str]) -> list[Advice]:
    known = [t for t in made if t.membership is not None]
    if not known:
        return []
    best = min(known, key=lambda t: abs((t.membership or 0) - 0.5))
    return [Advice(
        f"Who is in the table shows least: {names[id(best)]}; members are told from others in "
        f"{best.membership:.0%} of pairs (chance: 50%)."
    )]  # fmt: skip


def _tell_withstood(made: Sequence[Trial], names: dict[int, str]) -> list[Advice]:
    """Say of all releases against whom their promises hold: a sentence for those that are alike."""
    alike: dict[str, list[str]] = {}
    for t in made:
        if t.withstands is not None:
            alike.setdefault(word_withstood(t.withstands), []).append(names[id(t)])
    return [
        Advice(f"{'; '.join(dict.fromkeys(those))}: the promise holds against {said}.")
        for said, those in alike.items()
    ]
