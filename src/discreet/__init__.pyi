"""The public names of discreet, and where they live: the only list of them."""

from . import datasets as datasets
from . import evaluate as evaluate
from .analysis import Combined, Crosstab, Fit, Histogram, combine
from .auditing import AuditReport, audit
from .errors import DiscreetError
from .evaluate.bucket_sizes import ProposedBuckets, propose_buckets
from .evaluate.tradeoffs import Tradeoff, tradeoff
from .principles import (
    KE,
    AlphaK,
    DifferentialPrivacy,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    KMAnonymity,
    MInvariance,
    PersonalPrivacy,
    Principle,
    Proximity,
    RecursiveDiversity,
    RhoUncertainty,
    TCloseness,
    Variance,
    XYAnonymity,
    XYLinkability,
)
from .principles.groups import Groups
from .publishing import publish
from .publishing.methods.anatomy import Anatomy
from .publishing.methods.angelization import Angelization
from .publishing.methods.apriori import Apriori
from .publishing.methods.full_domain import FullDomain
from .publishing.methods.generalization import Generalization
from .publishing.methods.invariant_angelization import InvariantAngelization
from .publishing.methods.marginal_choice import ProposedMarginals, propose_marginals
from .publishing.methods.noisy_marginals import NoisyMarginals
from .publishing.methods.permutation import Permutation
from .publishing.methods.perturbation import Perturbation
from .publishing.methods.rank_swapping import RankSwapping
from .publishing.methods.republication import Republication
from .publishing.methods.sequential import Sequential
from .publishing.methods.slicing import Slicing
from .publishing.signatures import History
from .release import Release
from .release.series import Series, load_series
from .release.store import load
from .steward.choosing import Comparison, compare
from .steward.ledger import Ledger
from .steward.plan import Plan
from .table.microdata import Microdata, read
from .table.people_key import PeopleKey
from .table.ratings import read_ratings
from .table.schema import Attribute, Missing, Role, Schema, Type
from .table.taxonomy import Dates, Intervals, Prefixes, Taxonomy

__version__: str
__all__: list[str]
