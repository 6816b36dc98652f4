from . import ratings as ratings
from ._crowd_kit import crowd_kit_names as crowd_kit_names
from ._partitions import (
    PartitionedResult as PartitionedResult,
    fit_partitions as fit_partitions,
)
from ._results import (
    align as align,
    changed_labels as changed_labels,
    temper as temper,
)
from .auto import Auto as Auto
from .base import (
    AggregationResult as AggregationResult,
    Aggregator as Aggregator,
    aggregators as aggregators,
    fitting as fitting,
    get as get,
    names as names,
)
from .bsc_seq import BSCSeq as BSCSeq
from .conal_em import ConalEM as ConalEM
from .crf_ma import (
    CRFMA as CRFMA,
    CrfTagger as CrfTagger,
)
from .dawid_skene import DawidSkene as DawidSkene
from .fast_dawid_skene import FastDawidSkene as FastDawidSkene
from .glad import GLAD as GLAD
from .hmm_crowd import HMMCrowd as HMMCrowd
from .item_response import ItemResponse as ItemResponse
from .kos import KOS as KOS
from .m_msr import MMSR as MMSR
from .mace import MACE as MACE
from .majority_vote import MajorityVote as MajorityVote
from .one_coin import OneCoin as OneCoin
from .ordinal_dawid_skene import OrdinalDawidSkene as OrdinalDawidSkene
from .pooled_dawid_skene import PooledDawidSkene as PooledDawidSkene
from .span_majority import SpanMajority as SpanMajority
from .wawa import Wawa as Wawa
from .worker_clustering import WorkerClustering as WorkerClustering
from .zero_based_skill import ZeroBasedSkill as ZeroBasedSkill
