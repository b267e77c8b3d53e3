"""Advice: which method for which purpose, why, and what that does not say."""

from __future__ import annotations

from collections.abc import Sequence

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


def advise(
    trials: Sequence[Trial],
    original: float | None,
    chance: float | None,
    belief: float | None = None,
    tested: int = 0,
) -> list[str]:
    """Say in sentences which method serves which purpose, at a privacy that can be compared.

    That is where nobody's value is believed with more than ``belief``, or what half of the methods
    reach.
    """
    made = [t for t in trials if t.problem is None]
    if not made:
        return ["No method could keep its promise on this table: ask for less, or change roles."]
    level, reached, beyond = _find_level(made, belief)
    told = []
    if level is not None:
        why = "as asked" if belief is not None else "what half of the methods reach"
        told.append(
            f"Compared where nobody's value is believed with more than {level:.0%}: {why}."
            + (f" Out of that: {', '.join(beyond)}." if beyond else "")
        )
    for kind, purpose in PURPOSES.items():
        told += _recommend(kind, purpose, reached)
    told += _recommend_models(reached, original, chance, tested)
    told += _recommend_hiding(made)
    told += [f"{t.label}: {t.problem}" for t in trials if t.problem is not None]
    told.append(
        "What this does not say: errors are averages over questions drawn from this one table; "
        "yours may differ, and can be given. Belief is what a person's quasi-identifiers let "
        "others believe, not what background knowledge adds. What each method leaves open stands "
        "in its release."
    )
    return told


def _find_level(
    made: Sequence[Trial], belief: float | None
) -> tuple[float | None, list[Trial], list[str]]:
    """Find the belief to compare at, who stays below it, and which methods never do."""
    known = [(t, t.worst_belief) for t in made if t.worst_belief is not None]
    if not known:
        return None, list(made), []
    best: dict[str, float] = {}
    for t, worst in known:
        best[t.method] = min(worst, best.get(t.method, 1.0))
    level = sorted(best.values())[len(best) // 2] if belief is None else belief
    reached = [t for t, worst in known if worst <= level + 1e-9]
    beyond = [f"{name} ({least:.0%} at best)" for name, least in best.items()
              if least > level + 1e-9]  # fmt: skip
    return level, reached, beyond


def _recommend(kind: str, purpose: str, reached: Sequence[Trial]) -> list[str]:
    """Name the best that answers all questions of a kind, and those that are as good."""
    whole = [t for t in reached if kind in t.errors and kind not in t.unanswered]
    ranked = sorted(whole, key=lambda t: t.errors[kind])
    refused = sorted({t.method for t in reached if kind in t.unanswered})
    left = f"; not all are answered by {', '.join(refused)}" if refused else ""
    if not ranked:
        return [f"For {purpose}: none of these{left}."] if refused else []
    # of those that are as good, the one that shows least who is in the table
    least = ranked[0].errors[kind]
    good = [t for t in ranked if _is_near(least, t.errors[kind])]
    first = min(good, key=lambda t: (t.membership or 1.0, t.errors[kind]))
    text = f"For {purpose}: {first.label}, off by {first.errors[kind]:.1%} on average"
    equals = list(dict.fromkeys(t.method for t in good if t.method != first.method))
    others = [t for t in ranked if t.method != first.method]
    if equals:
        text += f"; {', '.join(equals)} {'is' if len(equals) == 1 else 'are'} as good"
    elif others:
        text += f", next {others[0].label} with {others[0].errors[kind]:.1%}"
    return [f"{text}{left}. {_limit(first)}"]


def _is_near(error: float, other: float) -> bool:
    return abs(other - error) <= max(NEAR * max(other, error), LITTLE)


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
    reached: Sequence[Trial], original: float | None, chance: float | None, tested: int
) -> list[str]:
    """Name what models learn most from, where that is more than chance."""
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
    sure = chance + 2 * (chance * (1 - chance) / max(tested, 1)) ** 0.5 if tested else chance
    if first.accuracy is not None and first.accuracy <= sure:
        text = (
            "To train models: none of them; no tree was surely better than always guessing the "
            f"commonest value ({chance:.1%}; trained on the original: {original:.1%})."
        )
    return [text]


def _recommend_hiding(made: Sequence[Trial]) -> list[str]:
    known = [t for t in made if t.membership is not None]
    if not known:
        return []
    best = min(known, key=lambda t: abs((t.membership or 0) - 0.5))
    return [
        f"Who is in the table shows least: {best.label}; members are told from others in "
        f"{best.membership:.0%} of pairs (chance: 50%)."
    ]
