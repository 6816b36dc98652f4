"""Dataset -> frozen result: pure functions, each with the reference that it takes for the truth.

Everything public is an attribute of this package: ``analysis.shared_mistakes(dataset, "gold").percent``.
"""

from crowdcore.analysis.agreement import Agreement, Coefficient, agreement
from crowdcore.analysis.bands import Band, band, band_frame, smoothed
from crowdcore.analysis.bound import MinimaxBound, minimax_bound
from crowdcore.analysis.calibration import Calibration, calibration, calibration_of_seeds
from crowdcore.analysis.cohen import PairKappa, pair_kappa
from crowdcore.analysis.critical_difference import CriticalDifference, critical_difference
from crowdcore.analysis.effective_confusion import effective_confusion, names_at_risk
from crowdcore.analysis.judgement import Judgement, judge, show_gold
from crowdcore.analysis.label_disagreement import LabelDisagreement, label_difference, label_disagreement
from crowdcore.analysis.largest_confusions import LargestConfusions, confusion_error, largest_confusions
from crowdcore.analysis.mistake_cell import MistakeCell, mistake_cell, mistake_list
from crowdcore.analysis.noise import (
    AnnotationEntropy,
    ClassBalance,
    NoiseRates,
    annotation_entropy,
    class_balance,
    noise_rates,
)
from crowdcore.analysis.omega_judgement import OmegaJudgement, judge_omega
from crowdcore.analysis.omega_ranking import OmegaRanking, omega_ranking
from crowdcore.analysis.omega_spread import OmegaSpread, omega_spread
from crowdcore.analysis.omega_truth import OmegaTruth, omega_truth
from crowdcore.analysis.pair_mistakes import PairMistakes, pair_mistakes
from crowdcore.analysis.paired_bootstrap import PairedBootstrap, paired_bootstrap
from crowdcore.analysis.paired_tests import PairedTests, paired_tests
from crowdcore.analysis.planted import Planted, planted
from crowdcore.analysis.recovered import RecoveredConfusion, recovered_confusion
from crowdcore.analysis.reference import Reference, ReferenceLike, available_references, resolve_reference
from crowdcore.analysis.seeds_comparable import SeedsComparable, seeds_comparable
from crowdcore.analysis.shared_mistakes import SharedMistakes, shared_mistakes
from crowdcore.analysis.skill_comparison import SkillComparison, skill_comparison
from crowdcore.analysis.summary import Summary, summary
from crowdcore.analysis.task_tests import TaskTests, task_tests
from crowdcore.analysis.uncertainty import ConfusionIntervals, bootstrap_confusion, credible_intervals
from crowdcore.analysis.what_if import WhatIf, WithoutEach, what_if, without_each
from crowdcore.analysis.worker_confusion import WorkerConfusion, worker_confusion
from crowdcore.analysis.worker_distance import WorkerDistance, confusion_distance, worker_distance
from crowdcore.analysis.worker_order import WorkerOrder, order_workers
from crowdcore.analysis.worker_quality import WorkerQuality, worker_quality

__all__ = [
    "Agreement",
    "AnnotationEntropy",
    "Band",
    "Calibration",
    "ClassBalance",
    "Coefficient",
    "ConfusionIntervals",
    "CriticalDifference",
    "Judgement",
    "LabelDisagreement",
    "LargestConfusions",
    "MinimaxBound",
    "MistakeCell",
    "NoiseRates",
    "OmegaJudgement",
    "OmegaRanking",
    "OmegaSpread",
    "OmegaTruth",
    "PairKappa",
    "PairMistakes",
    "PairedBootstrap",
    "PairedTests",
    "Planted",
    "RecoveredConfusion",
    "Reference",
    "ReferenceLike",
    "SeedsComparable",
    "SharedMistakes",
    "SkillComparison",
    "Summary",
    "TaskTests",
    "WhatIf",
    "WithoutEach",
    "WorkerConfusion",
    "WorkerDistance",
    "WorkerOrder",
    "WorkerQuality",
    "agreement",
    "annotation_entropy",
    "available_references",
    "band",
    "band_frame",
    "bootstrap_confusion",
    "calibration",
    "calibration_of_seeds",
    "class_balance",
    "confusion_distance",
    "confusion_error",
    "credible_intervals",
    "critical_difference",
    "effective_confusion",
    "judge",
    "judge_omega",
    "label_difference",
    "label_disagreement",
    "largest_confusions",
    "minimax_bound",
    "mistake_cell",
    "mistake_list",
    "names_at_risk",
    "noise_rates",
    "omega_ranking",
    "omega_spread",
    "omega_truth",
    "order_workers",
    "pair_kappa",
    "pair_mistakes",
    "paired_bootstrap",
    "paired_tests",
    "planted",
    "recovered_confusion",
    "resolve_reference",
    "seeds_comparable",
    "shared_mistakes",
    "show_gold",
    "skill_comparison",
    "smoothed",
    "summary",
    "task_tests",
    "what_if",
    "without_each",
    "worker_confusion",
    "worker_distance",
    "worker_quality",
]
