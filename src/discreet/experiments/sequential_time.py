"""How long sequential releases take: Wang and Fung, KDD 2006, section 6, scalability.

Both tables are enlarged as the paper does: every record has variations, in which some attributes,
drawn evenly, have values drawn evenly; how many attributes the paper does not say.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.experiments.claims import Claim, Inequality
from discreet.experiments.outcome import Experiment, Outcome, Settings, clock
from discreet.experiments.sequential import (
    CLASS,
    COMMON,
    TAX,
    THERE,
    list_rare,
    read_adult,
    split_adult,
)
from discreet.principles import KAnonymity, Principle, XYAnonymity, XYLinkability
from discreet.publishing import publish
from discreet.publishing.methods.generalization import Generalization
from discreet.publishing.methods.sequential import Sequential

VARIED, SEED = 2, 20060820
"""So many attributes of every variation are drawn."""


def vary(frame: pl.DataFrame, names: list[str], times: int, seed: int) -> pl.DataFrame:
    """Give every record with all of its variations, in which some of these attributes differ."""
    rng = np.random.default_rng(seed)
    n = frame.height * (times - 1)
    drawn = np.argsort(rng.random((n, len(names))), axis=1)[:, :VARIED]
    more = pl.concat([frame] * (times - 1)) if times > 1 else frame.clear()
    for a, name in enumerate(names):
        values = frame[name].unique().sort()
        other = values.gather(rng.integers(0, len(values), n))
        changed = pl.Series((drawn == a).any(axis=1))
        more = more.with_columns(pl.when(changed).then(other).otherwise(pl.col(name)).alias(name))
    return pl.concat([frame, more])


def scaling(settings: Settings) -> Outcome:
    """Figures 5 and 8: seconds by the number of people in both tables."""
    frame = pl.concat(split_adult(settings))
    rows = []
    for times in (1, 2, 4) if settings.quick else (4, 9, 13, 18, 22):
        row = {"people": float(times * frame.height)}
        for line, varied in (("anonymity", TAX), ("linkability", TAX[1:])):
            here = vary(frame.select(*TAX, CLASS), varied, times, SEED)
            there = vary(frame.select(THERE), [n for n in THERE if n in varied], times, SEED + 1)
            # who matches nobody drops out of what is counted, and is in neither table
            here, there = (
                one.join(other, on=COMMON, how="semi", maintain_order="left")
                for one, other in ((here, there), (there, here))
            )
            many = read_adult(here, TAX, [CLASS], settings)
            earlier = publish(read_adult(there, THERE, [], settings), Generalization(KAnonymity(1)))
            promise: Principle = XYAnonymity(x=[*TAX, *THERE], y="people", k=40)
            if line == "linkability":
                rare = list_rare(many, TAX[0])
                promise = XYLinkability(x=TAX[1:], y=[TAX[0]], k="0.9", values=rare)
            method = Sequential(principles=[promise], earlier=[earlier], target=CLASS)
            row[f"{line}, preparing"] = clock(2, method.read_earlier, many)[-1]
            history = method.read_earlier(many)
            row[line] = clock(2, method.specialize, many, history)[-1]
        rows.append(row)
    table = pl.DataFrame(rows)
    last = table.tail(1).to_dicts()[0]
    return Outcome(
        "Figures 5 and 8: seconds by people, after loading",
        f"Adult (Set A), variations in {VARIED} attributes, up to {int(last['people']):,} people "
        "in each table", table, "seconds",
        tuple(
            Claim(f"a million people in {printed} s ({line}), with loading", (
                Inequality("without loading", last[line] + last[f"{line}, preparing"], "<",
                           printed, unit="s"),
            ))
            for line, printed in (("anonymity", 885), ("linkability", 83))
        ),
    )  # fmt: skip


EXPERIMENTS = [Experiment("sequential-scaling", scaling)]
