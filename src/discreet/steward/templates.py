"""Templates: a whole plan for each method, commented, that a person can begin from.

All are about one table, people.csv: age, sex, region, education, work, income.
"""

from __future__ import annotations

from discreet.errors import PlanError, name_closest
from discreet.publishing.methods import REGISTRY as METHODS

KNOWN = ("age", "sex", "region", "education")
TYPES = {"age": "integer", "sex": "category", "region": "category", "education": "integer",
         "work": "category", "income": "integer"}  # fmt: skip
NUMBERS = ("permutation", "rank-swapping", "perturbation", "noisy-marginals")
"""Methods whose sensitive attribute is a number."""
DOMAINS = {"age": "low = 0\nhigh = 120", "sex": 'values = ["female", "male"]',
           "education": "low = 0\nhigh = 20", "income": "low = 0\nhigh = 1_000_000"}  # fmt: skip
"""What values can be, whoever is in the table."""
SETTINGS = {
    "generalization": """\
name = "generalization"
# categories = "set"         # "ancestor": a node of the taxonomy instead of a set of values
# ends = "tight"             # "cuts": boxes tile a public domain (low, high, values of columns)
# suppress = 0.01            # leave out up to this share of people who stand apart
# resist = "method"          # keep the promise against who knows the method, too

[[method.principles]]
name = "k-anonymity"         # everybody looks like k - 1 others
k = 10

[[method.principles]]
name = "frequency-diversity" # no value is more frequent than 1/l among those who look alike
l = 2
on = "work"
""",
    "full-domain": """\
name = "full-domain"         # one level of its taxonomy per column, for everybody
suppress = 0.02

[[method.principles]]
name = "k-anonymity"
k = 5
""",
    "angelization": """\
name = "angelization"
k = 10                       # in each table k people look alike
marginals = [["age", "sex"], ["region", "education"]]
# resist = "method"          # keep the promise against who knows the method, too

[[method.principles]]
name = "frequency-diversity" # what batches of sensitive values keep
l = 2
""",
    "anatomy": """\
name = "anatomy"             # exact quasi-identifiers: for tables whose members are known anyway
# resist = "method"          # keep the promise against who knows the method, too

[[method.principles]]
name = "frequency-diversity"
l = 2
""",
    "slicing": """\
name = "slicing"
columns = [["age", "sex", "education"], ["region", "work"]]   # or how many: columns = 2
# buckets = "mondrian"       # or people per bucket, drawn at random: buckets = 10

[[method.principles]]
name = "frequency-diversity"
l = 2
""",
    "permutation": """\
name = "permutation"         # exact quasi-identifiers, numbers shuffled within groups
objective = "sum"            # least sum of ranges; or "max", "max-overlapping", "groups"

[[method.principles]]
name = "k-e"                 # or frequency-diversity, proximity, which bound how likely a number is
k = 5                        # at least k different numbers in a group
e = 2000                     # that span at least e
""",
    "rank-swapping": """\
name = "rank-swapping"       # numbers exchanged with somebody near in rank

[[method.principles]]
name = "k-e"
k = 5
e = 2000
""",
    "perturbation": """\
name = "perturbation"        # numbers kept with some probability, else drawn at random
# check = "safe"             # "paper": as the paper does, which bounds less

[[method.principles]]
name = "proximity"
epsilon = 5                  # no interval of numbers within epsilon of one
m = 2                        # is believed with more than 1/m
""",
    "republication": """\
name = "republication"       # for tables that are published again and again, with a ledger
# k = 10                     # people per group; left out, as many as groups have values

[[method.principles]]
name = "m-invariance"
m = 3                        # groups have m values or more, all of them equally often
# epsilon = 5                # of numbers: and none within twice that of another
""",
    "invariant-angelization": """\
name = "invariant-angelization" # as republication, with values counted in batches
k = 5                        # people that look the same
# marginals = [["age", "sex"], ["region"]]   # a table each; left out, one of all

[[method.principles]]
name = "m-invariance"
m = 3                        # batches have m values or more, all of them equally often
""",
    "apriori": """\
name = "apriori"             # rare items show a node of the column's taxonomy, or nothing

[[method.principles]]
name = "km-anonymity"        # who knows up to m items of a person finds at least k people
k = 5
m = 2

# [[method.principles]]
# name = "rho-uncertainty"   # none of these items is believed with rho or more
# rho = 0.5
# sensitive = ["cook"]
""",
    "noisy-marginals": """\
name = "noisy-marginals"     # counts with noise; every column says what its values can be
# marginals = [["age", "income"], ["sex", "education", "income"]]   # each of these is a table
# bins = 20                  # numbers of more values are put into so many cells

[[method.principles]]
name = "differential-privacy" # that a person is in the table matters by a factor of e^epsilon
epsilon = 1
""",
    "sequential": """\
name = "sequential"          # safe when joined with what went out before
earlier = ["last-year"]      # folders of earlier releases
target = "work"              # what it is released to predict

[[method.principles]]
name = "xy-anonymity"
x = ["age", "sex", "region", "education"]
y = "people"
k = 5
""",
}


def write_template(method: str) -> str:
    """Write a whole plan for a method."""
    if method not in METHODS:
        raise PlanError(
            f"There is no method {method!r}.", hint=name_closest(method, [*METHODS, "check"])
        )
    sensitive = "income" if method in NUMBERS else "work"
    lines = [
        f"# A plan that publishes a table by {method}. Change names and numbers to yours;",
        "# `discreet inspect FILE` drafts one for a table that you have.",
        "[source]",
        'file = "people.csv"',
        "# encoding, separator, sheet, missing, decimal, thousands, date_format: as it is written",
        '# person = "pid"            # the column that says which rows are of one person',
        "",
    ]
    of_sets, drawn = METHODS[method].takes_sets, METHODS[method].keeps_drawn
    for name in (*KNOWN, sensitive):
        left_out = of_sets or (drawn and name not in DOMAINS)
        role = "sensitive" if name == sensitive else "other" if left_out else "quasi-identifier"
        lines += [f"[columns.{name}]", f'role = "{role}"']
        if of_sets and name == sensitive:
            lines += ['type = "set"', '# separator = "|"          # what stands between items', ""]
        else:
            known = [DOMAINS[name]] if drawn and name in DOMAINS else []
            lines += [f'type = "{TYPES[name]}"', *known, ""]
    settings = SETTINGS.get(method, f'name = "{method}"\n\n[[method.principles]]\n'
                                    'name = "k-anonymity"\nk = 10\n')  # fmt: skip
    lines += ["[method]", settings, "[release]", 'folder = "release"']
    lines += ['format = "parquet"          # or "csv"', ""]
    return "\n".join(lines)
