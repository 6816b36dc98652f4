from . import ratings as ratings
from ._confidence import (
    Confidence as Confidence,
    confidence as confidence,
    temper as temper,
)
from ._crowd_kit import crowd_kit_names as crowd_kit_names
from ._partitions import (
    PartitionedResult as PartitionedResult,
    fit_partitions as fit_partitions,
)
from ._results import (
    align as align,
    changed_labels as changed_labels,
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
from .conal_em import ConalEM as ConalEM
from .crf_ma import (
    CRFMA as CRFMA,
    CrfTagger as CrfTagger,
)
from .dawid_skene import (
    DawidSkene as DawidSkene,
    FastDawidSkene as FastDawidSkene,
    OneCoin as OneCoin,
    OrdinalDawidSkene as OrdinalDawidSkene,
    PooledDawidSkene as PooledDawidSkene,
)
from .glad import GLAD as GLAD
from .hmm_crowd import BSCSeq as BSCSeq, HMMCrowd as HMMCrowd
from .item_response import ItemResponse as ItemResponse
from .kos import KOS as KOS
from .m_msr import MMSR as MMSR
from .mace import MACE as MACE
from .majority_vote import (
    MajorityVote as MajorityVote,
    SpanMajority as SpanMajority,
    Wawa as Wawa,
    ZeroBasedSkill as ZeroBasedSkill,
)
from .trait import Trait as Trait
from .worker_clustering import WorkerClustering as WorkerClustering
