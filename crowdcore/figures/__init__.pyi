from .aggregation import (
    calibration as calibration,
    confusion_intervals as confusion_intervals,
    label_disagreement as label_disagreement,
    log_likelihood as log_likelihood,
)
from .confusion import (
    confusion as confusion,
    confusion_grid as confusion_grid,
    grid_cell as grid_cell,
)
from .curves import (
    accuracy_along as accuracy_along,
    class_accuracy as class_accuracy,
    critical_difference as critical_difference,
    rank_changes as rank_changes,
    seed_accuracies as seed_accuracies,
)
from .doors import figure_of as figure_of
from .heatmap import (
    Window as Window,
    window as window,
)
from .learning_curves import (
    learning_curves as learning_curves,
    search_history as search_history,
    search_importance as search_importance,
)
from .omega import (
    omega_halves as omega_halves,
    omega_ranking as omega_ranking,
    omega_spread as omega_spread,
    omega_truth as omega_truth,
)
from .ratings import (
    rating_bias as rating_bias,
    rating_errors_alike as rating_errors_alike,
    rating_shared_bias as rating_shared_bias,
    task_ratings as task_ratings,
)
from .recovery import (
    rating_biases as rating_biases,
    recovery_along as recovery_along,
    recovery_errors as recovery_errors,
    skills as skills,
)
from .shared_mistakes import shared_mistakes as shared_mistakes, worker_distance as worker_distance
from .summary import (
    agreement as agreement,
    annotation_entropy as annotation_entropy,
    class_balance as class_balance,
    labels_per_task as labels_per_task,
    labels_per_worker as labels_per_worker,
)
from .workers import (
    coordinated_workers as coordinated_workers,
    pair_mistakes as pair_mistakes,
    round_workers as round_workers,
    span_errors as span_errors,
    span_f1 as span_f1,
    worker_over_time as worker_over_time,
    worker_ranking as worker_ranking,
    worker_speed_over_time as worker_speed_over_time,
)
