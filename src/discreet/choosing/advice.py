"""Advice: which method for which purpose, why, and what that does not say."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.choosing.trial import Trial

PURPOSES = {
    "count": "counts of people with some values",
    "range": "counts over ranges of numbers",
    "sum": "sums of a sensitive number",
    "average": "averages of a sensitive number",
    "own": "your own questions",
}
NEAR, LITTLE = 0.1, 0.001
"""Errors that differ by less than this share of the larger one, or by this, count as the same."""
HIDDEN = 0.55
"""Below this, members are hardly told from others."""


def advise(trials: Sequence[Trial], original: float | None, chance: float | None) -> list[str]:
    """Say in sentences which method serves which purpose, at a privacy that can be compared."""
    made = [t for t in trials if t.problem is None]
    if not made:
        return ["No method could keep its promise on this table: ask for less, or change roles."]
    level, reached = _find_level(made)
    told = []
    if level is not None:
        told.append(
            f"Compared where nobody's value is believed with more than {level:.0%}: the strictest "
            f"that every method reached. {len(reached)} of {len(made)} trials do."
        )
    for kind, purpose in PURPOSES.items():
        told += _recommend(kind, purpose, reached)
    told += _recommend_models(reached, original, chance)
    told += _recommend_hiding(made)
    told += [f"{t.label}: {t.problem}" for t in trials if t.problem is not None]
    told.append(
        "What this does not say: errors are averages over questions drawn from this one table; "
        "yours may differ, and can be given. Belief is what a person's quasi-identifiers let "
        "others believe, not what background knowledge adds. What each method leaves open stands "
        "in its release."
    )
    return told


def _find_level(made: Sequence[Trial]) -> tuple[float | None, list[Trial]]:
    """Find the largest belief that every method can stay below, and who does."""
    known = [t for t in made if t.worst_belief is not None]
    if not known:
        return None, list(made)
    best: dict[str, float] = {}
    for t in known:
        assert t.worst_belief is not None
        best[t.method] = min(t.worst_belief, best.get(t.method, 1.0))
    level = max(best.values())
    return level, [t for t in known if t.worst_belief is not None and t.worst_belief <= level]


def _recommend(kind: str, purpose: str, reached: Sequence[Trial]) -> list[str]:
    ranked = sorted((t for t in reached if kind in t.errors), key=lambda t: t.errors[kind])
    if not ranked:
        return []
    # of those that are as good, the one that hides who is in the table
    least = ranked[0].errors[kind]
    good = [t for t in ranked if _is_near(least, t.errors[kind])]
    first = min(good, key=lambda t: t.exact)
    error = first.errors[kind]
    others = [t for t in ranked if t.method != first.method]
    text = f"For {purpose}: {first.label}, off by {error:.1%} on average"
    if others:
        second = others[0]
        as_good = _is_near(error, second.errors[kind])
        text += (
            f"; {second.label} is as good ({second.errors[kind]:.1%})"
            if as_good
            else f", next {second.label} with {second.errors[kind]:.1%}"
        )
    refused = {t.method for t in reached if kind in t.unanswered and kind not in t.errors}
    if refused:
        text += f"; not answered by {', '.join(sorted(refused))}"
    return [f"{text}. {_limit(first)}"]


def _is_near(error: float, other: float) -> bool:
    return abs(other - error) <= max(NEAR * max(other, error), LITTLE)


def _limit(trial: Trial) -> str:
    """Say what comes with a choice."""
    if trial.exact:
        told = "" if trial.membership is None else (
            f" (members are told from others in {trial.membership:.0%} of pairs)")  # fmt: skip
        return f"It publishes exact quasi-identifiers, so membership is not hidden{told}."
    if trial.membership is not None and trial.membership > HIDDEN:
        return f"Members are told from others in {trial.membership:.0%} of pairs (chance: 50%)."
    if trial.loss:
        return f"It blurs quasi-identifiers: {trial.loss:.0%} of their precision is lost."
    return f"It leaves open: {trial.leaves_open[0]}" if trial.leaves_open else ""


def _recommend_models(
    reached: Sequence[Trial], original: float | None, chance: float | None
) -> list[str]:
    ranked = sorted(
        (t for t in reached if t.accuracy is not None), key=lambda t: -(t.accuracy or 0)
    )
    if not ranked or original is None or chance is None:
        return []
    first = ranked[0]
    text = (
        f"To train models: {first.label}; a decision tree is right about {first.accuracy:.1%} of "
        f"other people (trained on the original: {original:.1%}, by chance: {chance:.1%})."
    )
    if first.accuracy is not None and first.accuracy <= chance:
        text = (
            "To train models: none of them; no tree was better than always guessing the commonest "
            f"value ({chance:.1%}; trained on the original: {original:.1%})."
        )
    return [text]


def _recommend_hiding(made: Sequence[Trial]) -> list[str]:
    known = [t for t in made if t.membership is not None]
    if not known:
        return []
    best = min(known, key=lambda t: abs((t.membership or 0) - 0.5))
    return [
        f"To hide who is in the table: {best.label}; members are told from others in "
        f"{best.membership:.0%} of pairs (chance: 50%)."
    ]
