"""Dataset -> frozen result: pure functions, each with the reference that it takes for the truth.

Everything public is an attribute of this package: ``analysis.shared_mistakes(dataset, "gold").percent``.
"""

from crowdcore.analysis.evaluation.calibration import Calibration, calibration, calibration_of_seeds
from crowdcore.analysis.evaluation.critical_difference import CriticalDifference, critical_difference
from crowdcore.analysis.evaluation.gold_scores import Judgement, judge, show_gold
from crowdcore.analysis.evaluation.paired_bootstrap import PairedBootstrap, paired_bootstrap
from crowdcore.analysis.evaluation.paired_tests import PairedTests, paired_tests
from crowdcore.analysis.evaluation.seed_bands import Band, band, band_frame, smoothed
from crowdcore.analysis.evaluation.task_tests import TaskTests, task_tests
from crowdcore.analysis.labels.agreement import Agreement, Coefficient, agreement
from crowdcore.analysis.labels.cohen import PairKappa, pair_kappa
from crowdcore.analysis.labels.label_disagreement import LabelDisagreement, label_difference, label_disagreement
from crowdcore.analysis.labels.minimax_bound import MinimaxBound, minimax_bound
from crowdcore.analysis.labels.noise import (
    AnnotationEntropy,
    ClassBalance,
    NoiseRates,
    annotation_entropy,
    class_balance,
    noise_rates,
)
from crowdcore.analysis.labels.summary import Summary, summary
from crowdcore.analysis.mistakes.largest_confusions import LargestConfusions, confusion_error, largest_confusions
from crowdcore.analysis.mistakes.mistake_detail import MistakeCell, mistake_cell, mistake_list
from crowdcore.analysis.mistakes.pair_mistakes import PairMistakes, pair_mistakes
from crowdcore.analysis.mistakes.shared_mistakes import SharedMistakes, shared_mistakes
from crowdcore.analysis.recovery.effective_confusion import effective_confusion, names_at_risk
from crowdcore.analysis.recovery.omega_judgement import OmegaJudgement, judge_omega
from crowdcore.analysis.recovery.omega_ranking import OmegaRanking, omega_ranking
from crowdcore.analysis.recovery.omega_spread import OmegaSpread, omega_spread
from crowdcore.analysis.recovery.omega_truth import OmegaTruth, omega_truth
from crowdcore.analysis.recovery.planted import Planted, planted
from crowdcore.analysis.recovery.recovered import RecoveredConfusion, recovered_confusion
from crowdcore.analysis.recovery.seeds_comparable import SeedsComparable, seeds_comparable
from crowdcore.analysis.recovery.skill_comparison import SkillComparison, skill_comparison
from crowdcore.analysis.reference import Reference, ReferenceLike, available_references, resolve_reference
from crowdcore.analysis.workers.confusion import WorkerConfusion, worker_confusion
from crowdcore.analysis.workers.distance import WorkerDistance, confusion_distance, worker_distance
from crowdcore.analysis.workers.order import WorkerOrder, order_workers
from crowdcore.analysis.workers.quality import WorkerQuality, worker_quality
from crowdcore.analysis.workers.uncertainty import ConfusionIntervals, bootstrap_confusion, credible_intervals
from crowdcore.analysis.workers.what_if import WhatIf, WithoutEach, what_if, without_each

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
