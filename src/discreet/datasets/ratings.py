"""Made-up ratings: tastes that a few factors explain, most cells empty."""

from __future__ import annotations

import numpy as np
import polars as pl

FACTORS = 6


def ratings_frame(users: int, items: int, seed: int = 0) -> pl.DataFrame:
    """Draw who rated what from 1 to 5: one row per rating.

    Items belong to kinds, users like some kinds; few items are rated by many, and people rate
    rather what they like.

    >>> ratings_frame(100, 20, seed=1).columns
    ['user', 'item', 'rating']
    """
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, FACTORS, items)
    traits = rng.normal(0, 0.25, (items, FACTORS))
    traits[np.arange(items), kind] += 1
    tastes = rng.normal(0, 0.8, (users, FACTORS))
    quality, mood = rng.normal(3.4, 0.4, items), rng.normal(0, 0.3, users)
    liking = quality + mood[:, None] + tastes @ traits.T
    rating = np.clip(np.round(liking + rng.normal(0, 0.6, liking.shape)), 1, 5).astype(np.int8)
    popular = 1 / np.arange(1, items + 1) ** 0.7
    chance = popular / popular.mean() * 0.06 * np.exp(0.4 * (liking - 3.4))
    user, item = np.nonzero(rng.random(liking.shape) < chance)
    names = pl.Series([f"item {i:03}" for i in range(items)])
    return pl.DataFrame({"user": user, "item": names.gather(item), "rating": rating[user, item]})
