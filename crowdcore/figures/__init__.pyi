from .aggregation import (
    calibration as calibration,
)
from .aggregation import (
    confusion_intervals as confusion_intervals,
)
from .aggregation import (
    label_disagreement as label_disagreement,
)
from .aggregation import (
    log_likelihood as log_likelihood,
)
from .confusion import confusion as confusion
from .confusion_grid import (
    confusion_grid as confusion_grid,
)
from .confusion_grid import (
    grid_cell as grid_cell,
)
from .critical_difference import critical_difference as critical_difference
from .curves import (
    accuracy_along as accuracy_along,
)
from .curves import (
    class_accuracy as class_accuracy,
)
from .curves import (
    seed_accuracies as seed_accuracies,
)
from .learning_curves import learning_curves as learning_curves
from .omega import (
    omega_halves as omega_halves,
)
from .omega import (
    omega_ranking as omega_ranking,
)
from .omega import (
    omega_spread as omega_spread,
)
from .omega import (
    omega_truth as omega_truth,
)
from .rank_changes import rank_changes as rank_changes
from .recovery import (
    recovery_along as recovery_along,
)
from .recovery import (
    recovery_errors as recovery_errors,
)
from .search import (
    search_history as search_history,
)
from .search import (
    search_importance as search_importance,
)
from .shared_mistakes import shared_mistakes as shared_mistakes
from .skill import skills as skills
from .summary import (
    agreement as agreement,
)
from .summary import (
    annotation_entropy as annotation_entropy,
)
from .summary import (
    class_balance as class_balance,
)
from .summary import (
    labels_per_task as labels_per_task,
)
from .summary import (
    labels_per_worker as labels_per_worker,
)
from .window import (
    Window as Window,
)
from .window import (
    window as window,
)
from .worker_distance import worker_distance as worker_distance
from .workers import (
    pair_mistakes as pair_mistakes,
)
from .workers import (
    worker_ranking as worker_ranking,
)
