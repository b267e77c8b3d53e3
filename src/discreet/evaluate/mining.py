"""Mining: what a model learns that is trained on published records and tried on real people.

Whatever the form of a release, :meth:`Release.sample` gives records to train on; the people a model
is tried on were never in the release. So the numbers of all methods can be compared.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.table.arrays import Floats, Ints

Model = Literal["tree", "pruned tree", "bayes"]
BINS = 10
"""Naive Bayes sees numbers in so many intervals of equal width."""
LEAF, PRUNE = 10, 2e-4
"""A decision tree makes no leaf of fewer records; a pruned one no branch that gains less."""
FACTORS, RIDGE = 10, 0.2
"""How many factors explain ratings, and how far a user's are drawn to the average."""


def classify(
    train: pl.DataFrame, test: pl.DataFrame, target: str, models: tuple[Model, ...]
) -> dict[Model, float]:
    """Train models to tell one attribute from the others; give the share of people they get right.

    >>> people = pl.DataFrame({"age": [20, 25, 60, 65], "works": ["yes", "yes", "no", "no"]})
    >>> people = pl.concat([people] * 10)
    >>> classify(people, people, "works", ("tree",))
    {'tree': 1.0}
    """
    names = [name for name in train.columns if name != target]
    if not names:
        raise SchemaError(f"There is nothing to tell {target!r} from.")
    answer, truth = (_read_texts(frame[target]) for frame in (train, test))
    found: dict[Model, float] = {}
    for model in models:
        read = _code if model == "bayes" else _open
        pairs = [read(train[name], test[name]) for name in names]
        seen, asked = (np.column_stack([pair[i] for pair in pairs]) for i in (0, 1))
        kinds = np.maximum(seen.max(0), asked.max(0)) + 1 if model == "bayes" else None
        learned = _make(model, kinds).fit(seen, answer)
        found[model] = float(np.mean(learned.predict(asked) == truth))
    return found


def _make(model: Model, kinds: Ints | None) -> Any:
    try:
        from sklearn.naive_bayes import CategoricalNB
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise SchemaError(
            "Training models needs scikit-learn.", hint="Install it: pip install 'discreet[mining]'"
        ) from error
    if model != "bayes":
        return DecisionTreeClassifier(
            criterion="entropy",
            min_samples_leaf=LEAF,
            ccp_alpha=PRUNE if model == "pruned tree" else 0.0,
            random_state=0,
        )
    return CategoricalNB(min_categories=kinds)


def _read_texts(cells: pl.Series) -> NDArray[np.str_]:
    return cells.cast(pl.String).fill_null("").to_numpy().astype(str)


def _open(train: pl.Series, test: pl.Series) -> tuple[Floats, Floats]:
    """Numbers as they are, with a column for missing ones; else a column per value."""
    if train.dtype.is_numeric():
        parts = [np.nan_to_num(cells.cast(pl.Float64).to_numpy()) for cells in (train, test)]
        gone = [cells.is_null().to_numpy() for cells in (train, test)]
        return np.stack([parts[0], gone[0]], 1), np.stack([parts[1], gone[1]], 1)
    texts = [_read_texts(cells) for cells in (train, test)]
    values = np.unique(texts[0])
    return (texts[0][:, None] == values).astype(float), (texts[1][:, None] == values).astype(float)


def _code(train: pl.Series, test: pl.Series) -> tuple[Ints, Ints]:
    """Numbers by interval, other values by number; what was not there to learn from comes last."""
    if not train.dtype.is_numeric():
        texts = [_read_texts(cells) for cells in (train, test)]
        values = np.unique(texts[0])
        at = np.minimum(np.searchsorted(values, texts[1]), len(values) - 1)
        asked = np.where(values[at] == texts[1], at, len(values))
        return np.searchsorted(values, texts[0]), asked
    low, high = (float(end or 0) for end in (train.min(), train.max()))  # type: ignore[arg-type]
    edges = np.linspace(low, high, BINS + 1)[1:-1]
    coded = [
        np.where(
            cells.is_null(), BINS, np.searchsorted(edges, cells.cast(pl.Float64), side="right")
        )
        for cells in (train, test)
    ]
    return coded[0], coded[1]


def predict_ratings(train: pl.DataFrame, test: pl.DataFrame) -> tuple[float, float]:
    """Predict people's ratings from their others; give the error (RMSE) and that of item averages.

    Factors of items come from a truncated singular value decomposition of the records to learn
    from, empty cells being filled with the item's average. Somebody's own factors are fitted to
    four fifths of their ratings, and tell the last fifth.
    """
    known, asked = (frame.cast(pl.Float64).to_numpy() for frame in (train, test))
    gone = np.isnan(known)
    average = np.where(gone, 0, known).sum(0) / np.maximum((~gone).sum(0), 1)
    _, strength, factors = np.linalg.svd(np.where(gone, 0, known - average), full_matrices=False)
    items = (factors[:FACTORS].T * strength[:FACTORS]) / np.sqrt(len(known))
    rng = np.random.default_rng(0)
    wrong, plain = [], []
    for person in asked:
        rated = rng.permutation(np.flatnonzero(~np.isnan(person)))
        for hidden in np.array_split(rated, 5):
            shown = np.setdiff1d(rated, hidden)
            seen = items[shown]
            pull = seen.T @ seen + RIDGE * np.eye(items.shape[1])
            taste = np.linalg.solve(pull, seen.T @ (person - average)[shown])
            plain.append((person - average)[hidden])
            wrong.append(plain[-1] - items[hidden] @ taste)
    error, baseline = (float(np.sqrt(np.mean(np.concatenate(e) ** 2))) for e in (wrong, plain))
    return error, baseline
