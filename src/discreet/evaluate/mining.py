"""Mining: what a model learns that is trained on published records and tried on real people.

Whatever the form of a release, :meth:`Release.sample` gives records to train on; the people a model
is tried on were never in the release. So the numbers of all methods can be compared. Naive Bayes
can do without such records: :mod:`bayes`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.evaluate.bayes import NaiveBayes, read_texts
from discreet.table.arrays import Floats

Model = Literal["tree", "pruned tree", "bayes"]
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
    answer, truth = (read_texts(frame[target]) for frame in (train, test))
    found: dict[Model, float] = {}
    for model in models:
        if model == "bayes":
            once = np.ones(train.height)
            pairs = {name: (train[name], train[target], once) for name in names}
            found[model] = NaiveBayes.learn(target, pairs).score(test)
            continue
        opened = [_open(train[name], test[name]) for name in names]
        seen, asked = (np.column_stack([pair[i] for pair in opened]) for i in (0, 1))
        learned = _make_tree(model).fit(seen, answer)
        found[model] = float(np.mean(learned.predict(asked) == truth))
    return found


def _make_tree(model: Model) -> Any:
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise SchemaError(
            "Training models needs scikit-learn.", hint="Install it: pip install 'discreet[mining]'"
        ) from error
    return DecisionTreeClassifier(
        criterion="entropy",
        min_samples_leaf=LEAF,
        ccp_alpha=PRUNE if model == "pruned tree" else 0.0,
        random_state=0,
    )


def _open(train: pl.Series, test: pl.Series) -> tuple[Floats, Floats]:
    """Numbers as they are, with a column for missing ones; else a column per value."""
    if train.dtype.is_numeric():
        parts = [np.nan_to_num(cells.cast(pl.Float64).to_numpy()) for cells in (train, test)]
        gone = [cells.is_null().to_numpy() for cells in (train, test)]
        return np.stack([parts[0], gone[0]], 1), np.stack([parts[1], gone[1]], 1)
    texts = [read_texts(cells) for cells in (train, test)]
    values = np.unique(texts[0])
    return (texts[0][:, None] == values).astype(float), (texts[1][:, None] == values).astype(float)


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
