from .checks.check import (
    Check as Check,
    Outcome as Outcome,
    check as check,
)
from .checks.junit import junit_xml as junit_xml
from .checks.page import check_page as check_page
from .checks.rules import (
    Rules as Rules,
    example_rules as example_rules,
    read_rules as read_rules,
    rules_yaml as rules_yaml,
)
from .coordinated.workers import (
    CoordinatedGroup as CoordinatedGroup,
    CoordinatedWorkers as CoordinatedWorkers,
    coordinated_workers as coordinated_workers,
)
from .evaluation.calibration import (
    Calibration as Calibration,
    calibration as calibration,
    calibration_of_seeds as calibration_of_seeds,
)
from .evaluation.critical_difference import (
    CriticalDifference as CriticalDifference,
    critical_difference as critical_difference,
)
from .evaluation.gold_scores import (
    Judgement as Judgement,
    judge as judge,
    show_gold as show_gold,
)
from .evaluation.paired_bootstrap import (
    PairedBootstrap as PairedBootstrap,
    paired_bootstrap as paired_bootstrap,
)
from .evaluation.paired_tests import (
    PairedTests as PairedTests,
    paired_tests as paired_tests,
)
from .evaluation.seed_bands import (
    Band as Band,
    band as band,
    band_frame as band_frame,
    smoothed as smoothed,
)
from .evaluation.task_tests import (
    TaskTests as TaskTests,
    task_tests as task_tests,
)
from .labels.agreement import (
    Agreement as Agreement,
    Coefficient as Coefficient,
    agreement as agreement,
)
from .labels.cohen import (
    PairKappa as PairKappa,
    pair_kappa as pair_kappa,
)
from .labels.label_disagreement import (
    LabelDisagreement as LabelDisagreement,
    label_difference as label_difference,
    label_disagreement as label_disagreement,
)
from .labels.minimax_bound import (
    MinimaxBound as MinimaxBound,
    minimax_bound as minimax_bound,
)
from .labels.next_labels import (
    NextLabels as NextLabels,
    next_labels as next_labels,
)
from .labels.noise import (
    AnnotationEntropy as AnnotationEntropy,
    ClassBalance as ClassBalance,
    NoiseRates as NoiseRates,
    annotation_entropy as annotation_entropy,
    class_balance as class_balance,
    noise_rates as noise_rates,
)
from .labels.summary import (
    Summary as Summary,
    summary as summary,
)
from .mistakes.largest_confusions import (
    LargestConfusions as LargestConfusions,
    confusion_error as confusion_error,
    largest_confusions as largest_confusions,
)
from .mistakes.mistake_detail import (
    MistakeCell as MistakeCell,
    mistake_cell as mistake_cell,
    mistake_list as mistake_list,
)
from .mistakes.pair_mistakes import (
    PairMistakes as PairMistakes,
    pair_mistakes as pair_mistakes,
)
from .mistakes.shared_mistakes import (
    SharedMistakes as SharedMistakes,
    shared_mistakes as shared_mistakes,
)
from .ratings.agreement import (
    RatingAgreement as RatingAgreement,
    RatingCoefficient as RatingCoefficient,
    rating_agreement as rating_agreement,
)
from .ratings.pairs import (
    RatingPairs as RatingPairs,
    rating_pairs as rating_pairs,
)
from .ratings.shared_bias import (
    SharedBias as SharedBias,
    shared_bias as shared_bias,
)
from .ratings.surprise import (
    RatingSurprise as RatingSurprise,
    rating_surprise as rating_surprise,
)
from .ratings.truth import (
    RatingTruth as RatingTruth,
    rating_truth as rating_truth,
)
from .ratings.workers import (
    RatingWorkers as RatingWorkers,
    rating_workers as rating_workers,
)
from .recovery.effective_confusion import (
    effective_confusion as effective_confusion,
    names_at_risk as names_at_risk,
)
from .recovery.omega_judgement import (
    OmegaJudgement as OmegaJudgement,
    judge_omega as judge_omega,
)
from .recovery.omega_ranking import (
    OmegaRanking as OmegaRanking,
    omega_ranking as omega_ranking,
)
from .recovery.omega_spread import (
    OmegaSpread as OmegaSpread,
    omega_spread as omega_spread,
)
from .recovery.omega_truth import (
    OmegaTruth as OmegaTruth,
    omega_truth as omega_truth,
)
from .recovery.planted import (
    Planted as Planted,
    planted as planted,
)
from .recovery.rating_biases import (
    RatingBiases as RatingBiases,
    rating_biases as rating_biases,
)
from .recovery.rating_recovery import (
    RatingRecovery as RatingRecovery,
    rating_recovery as rating_recovery,
)
from .recovery.recovered import (
    RecoveredConfusion as RecoveredConfusion,
    recovered_confusion as recovered_confusion,
)
from .recovery.seeds_comparable import (
    SeedsComparable as SeedsComparable,
    seeds_comparable as seeds_comparable,
)
from .recovery.skill_comparison import (
    SkillComparison as SkillComparison,
    skill_comparison as skill_comparison,
)
from .recovery.tag_recovery import (
    TagRecovery as TagRecovery,
    tag_recovery as tag_recovery,
)
from .reference import (
    Reference as Reference,
    ReferenceLike as ReferenceLike,
    available_references as available_references,
    default_reference as default_reference,
    resolve_reference as resolve_reference,
    reviewed_gold as reviewed_gold,
)
from .sequences.span_crowd import span_crowd as span_crowd
from .sequences.span_pairs import SPAN_ERRORS as SPAN_ERRORS
from .sequences.span_scores import (
    SpanScores as SpanScores,
    TaggingScores as TaggingScores,
    span_scores as span_scores,
    tagging_scores as tagging_scores,
)
from .two_rounds.compare import (
    MEASURES as MEASURES,
    Rounds as Rounds,
    compare_rounds as compare_rounds,
    rounds as rounds,
)
from .two_rounds.split import (
    in_second as in_second,
    join_rounds as join_rounds,
)
from .verdicts.tasks import (
    TaskVerdicts as TaskVerdicts,
    task_verdicts as task_verdicts,
)
from .verdicts.workers import (
    WorkerEvidence as WorkerEvidence,
    WorkerVerdicts as WorkerVerdicts,
    worker_evidence as worker_evidence,
    worker_verdicts as worker_verdicts,
)
from .workers.confusion import (
    WorkerConfusion as WorkerConfusion,
    worker_confusion as worker_confusion,
)
from .workers.distance import (
    WorkerDistance as WorkerDistance,
    confusion_distance as confusion_distance,
    worker_distance as worker_distance,
)
from .workers.order import (
    WorkerOrder as WorkerOrder,
    order_workers as order_workers,
)
from .workers.over_time import (
    WorkerOverTime as WorkerOverTime,
    worker_over_time as worker_over_time,
)
from .workers.quality import (
    WorkerQuality as WorkerQuality,
    worker_quality as worker_quality,
)
from .workers.sampled_confusion import sampled_confusion as sampled_confusion
from .workers.shrunken import (
    shrunken_confusion as shrunken_confusion,
    spread_of_workers as spread_of_workers,
)
from .workers.speed import (
    WorkerSpeed as WorkerSpeed,
    worker_speed as worker_speed,
)
from .workers.speed_over_time import (
    WorkerSpeedOverTime as WorkerSpeedOverTime,
    worker_speed_over_time as worker_speed_over_time,
)
from .workers.uncertainty import (
    ConfusionIntervals as ConfusionIntervals,
    bootstrap_confusion as bootstrap_confusion,
    credible_intervals as credible_intervals,
)
from .workers.what_if import (
    WhatIf as WhatIf,
    WithoutEach as WithoutEach,
    what_if as what_if,
    without_each as without_each,
)
