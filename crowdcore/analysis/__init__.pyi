from .checks.check import (
    Check as Check,
    Outcome as Outcome,
    check as check,
    check_page as check_page,
    junit_xml as junit_xml,
)
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
from .gold_scores import (
    Calibration as Calibration,
    Judgement as Judgement,
    MinimaxBound as MinimaxBound,
    calibration as calibration,
    calibration_of_seeds as calibration_of_seeds,
    judge as judge,
    minimax_bound as minimax_bound,
    show_gold as show_gold,
)
from .labels.agreement import (
    Agreement as Agreement,
    Coefficient as Coefficient,
    PairKappa as PairKappa,
    agreement as agreement,
    pair_kappa as pair_kappa,
)
from .labels.disagreement import (
    LabelDisagreement as LabelDisagreement,
    label_difference as label_difference,
    label_disagreement as label_disagreement,
)
from .labels.next_labels import (
    NextLabels as NextLabels,
    next_labels as next_labels,
)
from .labels.summary import (
    AnnotationEntropy as AnnotationEntropy,
    ClassBalance as ClassBalance,
    NoiseRates as NoiseRates,
    Summary as Summary,
    annotation_entropy as annotation_entropy,
    class_balance as class_balance,
    noise_rates as noise_rates,
    summary as summary,
)
from .method_tests import (
    CriticalDifference as CriticalDifference,
    PairedBootstrap as PairedBootstrap,
    PairedTests as PairedTests,
    TaskTests as TaskTests,
    critical_difference as critical_difference,
    paired_bootstrap as paired_bootstrap,
    paired_tests as paired_tests,
    task_tests as task_tests,
)
from .mistakes.pair_mistakes import (
    PairMistakes as PairMistakes,
    pair_mistakes as pair_mistakes,
)
from .mistakes.shared_mistakes import (
    LargestConfusions as LargestConfusions,
    MistakeCell as MistakeCell,
    SharedMistakes as SharedMistakes,
    confusion_error as confusion_error,
    largest_confusions as largest_confusions,
    mistake_cell as mistake_cell,
    mistake_list as mistake_list,
    shared_mistakes as shared_mistakes,
)
from .panels.honest import (
    HonestScore as HonestScore,
    honest_score as honest_score,
)
from .panels.leanings import (
    PanelLeanings as PanelLeanings,
    panel_leanings as panel_leanings,
)
from .panels.panel import (
    Panel as Panel,
    panel as panel,
)
from .panels.people import (
    PanelPeople as PanelPeople,
    panel_people as panel_people,
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
from .ratings.workers import (
    RatingSurprise as RatingSurprise,
    RatingTruth as RatingTruth,
    RatingWorkers as RatingWorkers,
    SharedBias as SharedBias,
    rating_surprise as rating_surprise,
    rating_truth as rating_truth,
    rating_workers as rating_workers,
    shared_bias as shared_bias,
)
from .recovery.omega import (
    OmegaJudgement as OmegaJudgement,
    OmegaRanking as OmegaRanking,
    OmegaSpread as OmegaSpread,
    OmegaTruth as OmegaTruth,
    judge_omega as judge_omega,
    omega_ranking as omega_ranking,
    omega_spread as omega_spread,
    omega_truth as omega_truth,
)
from .recovery.planted import (
    Planted as Planted,
    RatingBiases as RatingBiases,
    RatingRecovery as RatingRecovery,
    TagRecovery as TagRecovery,
    planted as planted,
    rating_biases as rating_biases,
    rating_recovery as rating_recovery,
    tag_recovery as tag_recovery,
)
from .recovery.recovered import (
    RecoveredConfusion as RecoveredConfusion,
    SkillComparison as SkillComparison,
    effective_confusion as effective_confusion,
    names_at_risk as names_at_risk,
    recovered as recovered,
    recovered_confusion as recovered_confusion,
    skill_comparison as skill_comparison,
)
from .recovery.seeds import (
    Band as Band,
    SeedsComparable as SeedsComparable,
    band as band,
    band_frame as band_frame,
    seeds_comparable as seeds_comparable,
    smoothed as smoothed,
)
from .recovery.shared import (
    LabelShares as LabelShares,
    OmegaUse as OmegaUse,
    RecoveredShares as RecoveredShares,
    SharedPart as SharedPart,
    omega_use as omega_use,
    recovered_shares as recovered_shares,
    shared_part as shared_part,
)
from .reference import (
    Reference as Reference,
    ReferenceLike as ReferenceLike,
    available_references as available_references,
    default_reference as default_reference,
    resolve_reference as resolve_reference,
    reviewed_gold as reviewed_gold,
)
from .spans import (
    SPAN_ERRORS as SPAN_ERRORS,
    SpanScores as SpanScores,
    TaggingScores as TaggingScores,
    span_crowd as span_crowd,
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
    ConfusionIntervals as ConfusionIntervals,
    WorkerConfusion as WorkerConfusion,
    bootstrap_confusion as bootstrap_confusion,
    confusion_of_counts as confusion_of_counts,
    count_interval as count_interval,
    credible_intervals as credible_intervals,
    sampled_confusion as sampled_confusion,
    shrunken_confusion as shrunken_confusion,
    spread_of_workers as spread_of_workers,
    worker_confusion as worker_confusion,
)
from .workers.distance import (
    WorkerDistance as WorkerDistance,
    WorkerOrder as WorkerOrder,
    confusion_distance as confusion_distance,
    order_workers as order_workers,
    worker_distance as worker_distance,
)
from .workers.lean import (
    Lean as Lean,
    is_ordered as is_ordered,
    without_lean as without_lean,
    worker_lean as worker_lean,
)
from .workers.quality import (
    WhatIf as WhatIf,
    WithoutEach as WithoutEach,
    WorkerQuality as WorkerQuality,
    what_if as what_if,
    without_each as without_each,
    worker_quality as worker_quality,
)
from .workers.speed import (
    WorkerOverTime as WorkerOverTime,
    WorkerSpeed as WorkerSpeed,
    WorkerSpeedOverTime as WorkerSpeedOverTime,
    worker_over_time as worker_over_time,
    worker_speed as worker_speed,
    worker_speed_over_time as worker_speed_over_time,
)
