from .evaluation.calibration import (
    Calibration as Calibration,
)
from .evaluation.calibration import (
    calibration as calibration,
)
from .evaluation.calibration import (
    calibration_of_seeds as calibration_of_seeds,
)
from .evaluation.critical_difference import (
    CriticalDifference as CriticalDifference,
)
from .evaluation.critical_difference import (
    critical_difference as critical_difference,
)
from .evaluation.gold_scores import (
    Judgement as Judgement,
)
from .evaluation.gold_scores import (
    judge as judge,
)
from .evaluation.gold_scores import (
    show_gold as show_gold,
)
from .evaluation.paired_bootstrap import (
    PairedBootstrap as PairedBootstrap,
)
from .evaluation.paired_bootstrap import (
    paired_bootstrap as paired_bootstrap,
)
from .evaluation.paired_tests import (
    PairedTests as PairedTests,
)
from .evaluation.paired_tests import (
    paired_tests as paired_tests,
)
from .evaluation.seed_bands import (
    Band as Band,
)
from .evaluation.seed_bands import (
    band as band,
)
from .evaluation.seed_bands import (
    band_frame as band_frame,
)
from .evaluation.seed_bands import (
    smoothed as smoothed,
)
from .evaluation.task_tests import (
    TaskTests as TaskTests,
)
from .evaluation.task_tests import (
    task_tests as task_tests,
)
from .labels.agreement import (
    Agreement as Agreement,
)
from .labels.agreement import (
    Coefficient as Coefficient,
)
from .labels.agreement import (
    agreement as agreement,
)
from .labels.cohen import (
    PairKappa as PairKappa,
)
from .labels.cohen import (
    pair_kappa as pair_kappa,
)
from .labels.label_disagreement import (
    LabelDisagreement as LabelDisagreement,
)
from .labels.label_disagreement import (
    label_difference as label_difference,
)
from .labels.label_disagreement import (
    label_disagreement as label_disagreement,
)
from .labels.minimax_bound import (
    MinimaxBound as MinimaxBound,
)
from .labels.minimax_bound import (
    minimax_bound as minimax_bound,
)
from .labels.noise import (
    AnnotationEntropy as AnnotationEntropy,
)
from .labels.noise import (
    ClassBalance as ClassBalance,
)
from .labels.noise import (
    NoiseRates as NoiseRates,
)
from .labels.noise import (
    annotation_entropy as annotation_entropy,
)
from .labels.noise import (
    class_balance as class_balance,
)
from .labels.noise import (
    noise_rates as noise_rates,
)
from .labels.summary import (
    Summary as Summary,
)
from .labels.summary import (
    summary as summary,
)
from .mistakes.largest_confusions import (
    LargestConfusions as LargestConfusions,
)
from .mistakes.largest_confusions import (
    confusion_error as confusion_error,
)
from .mistakes.largest_confusions import (
    largest_confusions as largest_confusions,
)
from .mistakes.mistake_detail import (
    MistakeCell as MistakeCell,
)
from .mistakes.mistake_detail import (
    mistake_cell as mistake_cell,
)
from .mistakes.mistake_detail import (
    mistake_list as mistake_list,
)
from .mistakes.pair_mistakes import (
    PairMistakes as PairMistakes,
)
from .mistakes.pair_mistakes import (
    pair_mistakes as pair_mistakes,
)
from .mistakes.shared_mistakes import (
    SharedMistakes as SharedMistakes,
)
from .mistakes.shared_mistakes import (
    shared_mistakes as shared_mistakes,
)
from .recovery.effective_confusion import (
    effective_confusion as effective_confusion,
)
from .recovery.effective_confusion import (
    names_at_risk as names_at_risk,
)
from .recovery.omega_judgement import (
    OmegaJudgement as OmegaJudgement,
)
from .recovery.omega_judgement import (
    judge_omega as judge_omega,
)
from .recovery.omega_ranking import (
    OmegaRanking as OmegaRanking,
)
from .recovery.omega_ranking import (
    omega_ranking as omega_ranking,
)
from .recovery.omega_spread import (
    OmegaSpread as OmegaSpread,
)
from .recovery.omega_spread import (
    omega_spread as omega_spread,
)
from .recovery.omega_truth import (
    OmegaTruth as OmegaTruth,
)
from .recovery.omega_truth import (
    omega_truth as omega_truth,
)
from .recovery.planted import (
    Planted as Planted,
)
from .recovery.planted import (
    planted as planted,
)
from .recovery.recovered import (
    RecoveredConfusion as RecoveredConfusion,
)
from .recovery.recovered import (
    recovered_confusion as recovered_confusion,
)
from .recovery.seeds_comparable import (
    SeedsComparable as SeedsComparable,
)
from .recovery.seeds_comparable import (
    seeds_comparable as seeds_comparable,
)
from .recovery.skill_comparison import (
    SkillComparison as SkillComparison,
)
from .recovery.skill_comparison import (
    skill_comparison as skill_comparison,
)
from .reference import (
    Reference as Reference,
)
from .reference import (
    ReferenceLike as ReferenceLike,
)
from .reference import (
    available_references as available_references,
)
from .reference import (
    resolve_reference as resolve_reference,
)
from .workers.confusion import (
    WorkerConfusion as WorkerConfusion,
)
from .workers.confusion import (
    worker_confusion as worker_confusion,
)
from .workers.distance import (
    WorkerDistance as WorkerDistance,
)
from .workers.distance import (
    confusion_distance as confusion_distance,
)
from .workers.distance import (
    worker_distance as worker_distance,
)
from .workers.order import (
    WorkerOrder as WorkerOrder,
)
from .workers.order import (
    order_workers as order_workers,
)
from .workers.quality import (
    WorkerQuality as WorkerQuality,
)
from .workers.quality import (
    worker_quality as worker_quality,
)
from .workers.uncertainty import (
    ConfusionIntervals as ConfusionIntervals,
)
from .workers.uncertainty import (
    bootstrap_confusion as bootstrap_confusion,
)
from .workers.uncertainty import (
    credible_intervals as credible_intervals,
)
from .workers.what_if import (
    WhatIf as WhatIf,
)
from .workers.what_if import (
    WithoutEach as WithoutEach,
)
from .workers.what_if import (
    what_if as what_if,
)
from .workers.what_if import (
    without_each as without_each,
)
