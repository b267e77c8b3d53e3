"""Methods and adversaries: what a release says that it withstands, and the test that shows it.

The table of ``docs/why/adversaries.md``; ``PYTHONPATH=tests python -m attacks.withstanding`` prints
it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import polars as pl

import discreet as dc
from discreet.forms import find_form
from discreet.forms.adversaries import Adversary
from discreet.publishing.method import Method
from samples import microdata

HALF = dc.FrequencyDiversity(2)
APART = [["age", "sex", "region"], ["income"]]
NEAR = dc.Proximity(1000, 3)
LITTLE = dc.RecursiveDiversity(99, 2)
"""In so few people learners find what is not there; this is kept of them, as is drawn here."""

NOTHING = "–"
ORACLES = "oracles/test_oracles.py#test_the_audit_says_no_less_than_all_worlds"
NOISE = "oracles/test_noise.py#test_audits_never_say_less_than_the_worlds"
HERE = "attacks/test_adversaries.py#"
NEIGHBOUR = f"{HERE}test_who_knows_other_peoples_values_is_certain_of_the_last_of_a_group"
TWO = f"{HERE}test_who_holds_two_releases_of_the_same_people_may_be_certain"

STOPPED = f"{HERE}test_who_knows_where_a_search_stops_believes_more_than_is_promised"
PAPERS = f"{HERE}test_the_papers_checks_hold_against_fewer"
DEALT = f"{HERE}test_who_is_dealt_is_promised_something_of_their_group_alone"
SPLIT = "attacks/test_known_method.py#test_who_knows_the_method_believes_no_more_than_is_promised"
BATCHED = (
    "attacks/test_known_batching.py"
    "#test_nobody_is_believed_to_have_a_value_with_more_than_is_promised"
)
WALKED = (
    "attacks/test_known_batching.py"
    "#test_batches_along_buckets_may_make_certain_who_knows_how_they_were_filled"
)
LEARNED = (
    "attacks/test_learning.py"
    "#test_who_learns_across_groups_tells_nobody_apart_where_that_is_resisted"
)
DRAWN = "publishing/test_noisy_marginals.py#test_noise_is_never_less_than_epsilon_asks_for"

Shown = Mapping[Adversary, str]
"""The test of each adversary."""
READ: Shown = {Adversary.READER: ORACLES, Adversary.POPULATION: ORACLES}
GROUPED: Shown = {
    **READ, Adversary.ACQUAINTANCE: NEIGHBOUR, Adversary.COLLECTOR: TWO,
    Adversary.ANYBODY: NEIGHBOUR,
}  # fmt: skip
"""Whoever knows anything at all knows other people's values."""


@dataclass(frozen=True)
class Row:
    """One kind of release."""

    page: str
    """Of its method, in ``docs/methods``."""
    said: str
    """How it differs from what the method makes if nothing else is asked for."""
    release: Callable[[], dc.Release]
    shown: Shown

    @property
    def name(self) -> str:
        """Name it by its page."""
        title = self.page.replace("-", " ")
        return f"[{title}](../methods/{self.page}.md)" + (f", {self.said}" if self.said else "")

    @property
    def cells(self) -> list[str]:
        """Say of each adversary what the release says, with its test.

        What is claimed has one. What is not has one where a promise was broken, or says no more
        than that.
        """
        release = self.release()
        told = find_form(release.form).list_withstood(release)
        return [
            NOTHING
            if one not in told and one not in self.shown
            else f"[{told.get(one, 'no') or 'yes'}](../../tests/{self.shown[one]})"
            for one in Adversary
        ]


@cache
def people() -> dc.Microdata:
    """Give a table that all methods take but for those of joins and of sets."""
    frame = dc.datasets.census(300, sensitive="income").to_polars()
    names = ["age", "sex", "region"]
    return microdata(frame.select(*names, "income"), names, ["income"])


def by(method: Method) -> Callable[[], dc.Release]:
    """Publish it when asked."""
    return lambda: dc.publish(people(), method, insecure_seed=3)


def join() -> dc.Release:
    """Publish people after they were published without their region."""
    frame = people().to_polars()
    earlier = dc.publish(microdata(frame.drop("region"), ["age", "sex"], ["income"]),
                         dc.Generalization(dc.KAnonymity(2)))  # fmt: skip
    promise = dc.XYAnonymity(x=["sex", "region"], y="people", k=2)
    tree = dc.Taxonomy.from_paths([[region] for region in sorted(set(frame["region"]))])
    schema = dc.Schema.infer(frame.drop("income"), quasi_identifiers=["age", "sex", "region"])
    age = replace(schema["age"], taxonomy=dc.Intervals((10,), origin=0))
    data = dc.read(
        frame.drop("income"), schema.changed(age, replace(schema["region"], taxonomy=tree))
    )
    return dc.publish(data, dc.Sequential(principles=[promise], earlier=[earlier]))


def suppress_items() -> dc.Release:
    """Publish sets of items."""
    attribute = dc.Attribute("items", dc.Role.SENSITIVE, dc.Type.SET)
    frame = pl.DataFrame({"items": [["ale", "rum"], ["ale"], ["ale", "rum"], ["rum"]]})
    return dc.publish(dc.read(frame, dc.Schema((attribute,))), dc.Apriori(dc.KMAnonymity(2, 2)))


def count_with_noise() -> dc.Release:
    """Publish counts with noise of people whose values are declared."""
    sex = dc.Attribute("sex", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY, values=("F", "M"))
    ill = dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.BOOLEAN)
    frame = pl.DataFrame({"sex": ["F", "M"] * 20, "ill": [True, False] * 20})
    method = dc.NoisyMarginals(dc.DifferentialPrivacy(1))
    return dc.publish(dc.read(frame, dc.Schema((sex, ill))), method)


LEARNER, METHOD = Adversary.LEARNER, Adversary.METHOD
ROWS = [
    Row("generalization", "", by(dc.Generalization(HALF)), {**GROUPED, METHOD: STOPPED}),
    Row("generalization", '`resist = "method"`', by(dc.Generalization(HALF, resist="method")),
        {**GROUPED, METHOD: SPLIT}),
    Row("generalization", "k-anonymity alone", by(dc.Generalization(dc.KAnonymity(2))),
        {**READ, METHOD: f"{HERE}test_a_promise_that_says_nothing_of_values_holds_against_who_knows"
                         "_the_method"}),
    Row("generalization", "(ε,m)", by(dc.Generalization(NEAR)),
        {Adversary.READER: DEALT, Adversary.POPULATION: DEALT}),
    Row("full-domain", "", by(dc.FullDomain(HALF)), {**GROUPED, METHOD: STOPPED}),
    Row("angelization", "", by(dc.Angelization(HALF, k=2)),
        {**GROUPED, METHOD: WALKED, LEARNER: LEARNED}),
    Row("angelization", '`resist = "method"`', by(dc.Angelization(HALF, k=2, resist="method")),
        {**GROUPED, METHOD: BATCHED}),
    Row("angelization", '`resist = "learning"`',
        by(dc.Angelization(LITTLE, k=2, resist="learning")), {**GROUPED, LEARNER: LEARNED}),
    Row("anatomy", "", by(dc.Anatomy(HALF)), {**GROUPED, METHOD: WALKED, LEARNER: LEARNED}),
    Row("anatomy", '`resist = "method"`', by(dc.Anatomy(HALF, resist="method")),
        {**GROUPED, METHOD: BATCHED}),
    Row("anatomy", '`resist = "learning"`', by(dc.Anatomy(LITTLE, resist="learning")),
        {**GROUPED, LEARNER: LEARNED}),
    Row("slicing", "", by(dc.Slicing(HALF, columns=APART)),
        {**GROUPED, METHOD: STOPPED,
         LEARNER: "publishing/test_slicing.py"
                  "#test_comparing_buckets_tells_more_where_values_follow_from_others"}),
    Row("slicing", '`resist = "method"`', by(dc.Slicing(HALF, columns=APART, resist="method")),
        {**GROUPED, METHOD: SPLIT}),
    Row("slicing", '`check = "paper"`', by(dc.Slicing(HALF, columns=APART, check="paper")),
        {Adversary.READER: PAPERS,
         Adversary.POPULATION: "papers/test_slicing.py"
                               "#test_what_the_papers_check_passes_and_is_certain_is_seen"}),
    Row("sequential", "", join, {
        Adversary.READER: ORACLES,
        Adversary.COLLECTOR: "oracles/test_found.py#test_two_releases_are_put_together_to_the_end",
    }),
    Row("republication", "", by(dc.Republication(dc.MInvariance(2))), {
        **READ, Adversary.COLLECTOR: "publishing/test_republication.py"
        "#test_over_all_worlds_nobody_is_believed_to_have_a_value_above_one_in_m",
    }),
    Row("invariant-angelization", "", by(dc.InvariantAngelization(dc.MInvariance(2), k=2)), {
        **READ, Adversary.COLLECTOR: "publishing/test_invariant_angelization.py"
        "#test_over_all_worlds_nobody_is_believed_to_have_a_value_above_one_in_m",
    }),
    Row("permutation", "", by(dc.Permutation(HALF)),
        {**GROUPED, METHOD: f"{HERE}test_which_numbers_make_a_group_is_the_same_whosever_they_are",
         LEARNER: LEARNED}),
    Row("permutation", '`resist = "learning"`', by(dc.Permutation(LITTLE, resist="learning")),
        {**GROUPED, LEARNER: LEARNED}),
    Row("rank-swapping", "", by(dc.RankSwapping(dc.KE(2, 1))),
        {Adversary.READER: NOISE, Adversary.POPULATION: NOISE}),
    Row("perturbation", "", by(dc.Perturbation(dc.Proximity(1, 2))), {
        Adversary.READER: NOISE, Adversary.POPULATION: NOISE, METHOD: NOISE,
        Adversary.ACQUAINTANCE: f"{HERE}test_who_knows_all_other_numbers_reads_a_perturbed_one"
                                "_better",
    }),
    Row("perturbation", '`check = "paper"`', by(dc.Perturbation(dc.Proximity(1, 2), check="paper")),
        {Adversary.READER: PAPERS}),
    Row("apriori", "", suppress_items, {
        Adversary.READER: "publishing/test_apriori.py"
        "#test_the_audit_finds_as_few_candidates_as_whoever_knows_items",
    }),
    Row("noisy-marginals", "", count_with_noise, dict.fromkeys(Adversary, DRAWN)),
]  # fmt: skip


def write_table() -> str:
    """Write it in Markdown."""
    head = ["method", *map(str, Adversary)]
    rows = [[row.name, *row.cells] for row in ROWS]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    print(write_table(), end="")
