"""All that the pages know of `crowdcore`; the only place that caches (`st.cache_*`) and the only caller."""

from crowdcore.core.errors import CrowdError as Refusal
from dashboard.services import recovered, sandbox, sandbox_results, train
from dashboard.services._cache import dataset, workspace
from dashboard.services.aggregate import (
    about_aggregator,
    aggregators,
    calibration_figure,
    calibration_table,
    comparison,
    differing_tasks,
    gold_to_show,
    judgement,
    label_disagreement,
    label_disagreement_figure,
    most_different,
    objective_figure,
    objective_table,
    pair_in_words,
)
from dashboard.services.annotators import (
    CELLS,
    KINDS,
    Kind,
    confusion,
    confusion_figure,
    confusion_table,
    distance,
    distance_figure,
    distance_table,
    group_table,
    order,
    pair_facts,
    pair_notes,
    pair_table,
    quality,
    quality_table,
    what_if,
    what_if_table,
)
from dashboard.services.datasets import default_dataset, names, offer, reference, references, uploaded, view, workers
from dashboard.services.estimates import estimate, refused
from dashboard.services.fit_details import (
    busiest,
    common_confusions,
    common_figure,
    common_table,
    intervals_in_words,
    labels_csv,
    worker_intervals,
    worker_intervals_figure,
    worker_intervals_table,
)
from dashboard.services.fits import Fit, canonical, fitted, read_fit, spell_fit, start_fits, wait_for
from dashboard.services.items import Item, has_media, item
from dashboard.services.learners import (
    about_backbone,
    about_method,
    backbones,
    check,
    devices,
    fields_of,
    learners,
    setting_title,
    settings_in_words,
    training_schema,
    untrainable,
    value_in_words,
)
from dashboard.services.mistakes import (
    LAYERS,
    cell_tasks,
    cell_workers,
    in_words,
    mistake_cell,
    most_shared,
    shared_mistakes,
    shared_mistakes_figure,
    with_intervals,
)
from dashboard.services.overview import (
    agreement,
    agreement_figure,
    agreement_table,
    class_table,
    overview_data,
    overview_figures,
    summary,
)
from dashboard.services.runs import (
    all_runs,
    curves,
    engine,
    live_runs,
    log_lines,
    missing_extras,
    readable,
    result,
    run,
    run_asked,
    run_label,
    run_labels,
    run_names,
    run_title,
    runs_of,
    spelled,
    trials,
    when,
)
from dashboard.services.searches import (
    Field,
    best_draft,
    importance_figure,
    importance_table,
    search_figure,
    search_trials,
    searchable,
    start_search,
    usually_searched,
)
from dashboard.services.tables import containing, csv
from dashboard.services.tasks import SHOWS, disagreement, task_answers, task_labels, task_list, task_number
from dashboard.services.train import (
    Draft,
    changed,
    draft_of,
    read_method,
    spell_method,
    start,
)
from dashboard.services.training_figures import curve_metrics, curves_figure, curves_table
from dashboard.services.uploads import MAPPED, accept, examine, receive

# fmt: off
__all__ = [
    "CELLS", "KINDS", "LAYERS", "MAPPED", "SHOWS", "Draft", "Field", "Fit", "Item", "Kind", "Refusal",
    "about_aggregator", "about_backbone", "about_method", "accept", "aggregators", "agreement", "agreement_figure",
    "agreement_table", "all_runs", "backbones", "best_draft", "busiest", "calibration_figure", "calibration_table",
    "canonical", "cell_tasks", "cell_workers", "changed", "check", "class_table", "common_confusions",
    "common_figure", "common_table", "comparison", "confusion", "confusion_figure", "confusion_table",
    "containing", "csv", "curve_metrics", "curves", "curves_figure", "curves_table", "dataset", "default_dataset",
    "devices", "differing_tasks", "disagreement", "distance", "distance_figure", "distance_table", "draft_of",
    "engine", "estimate", "examine", "fields_of", "fitted", "gold_to_show", "group_table", "has_media",
    "importance_figure", "importance_table", "in_words", "intervals_in_words", "item", "judgement",
    "label_disagreement", "label_disagreement_figure", "labels_csv", "learners", "live_runs", "log_lines",
    "missing_extras", "mistake_cell", "most_different", "most_shared", "names", "objective_figure", "objective_table",
    "offer", "order", "overview_data", "overview_figures", "pair_facts", "pair_in_words", "pair_notes",
    "pair_table", "quality", "quality_table", "read_fit", "read_method", "readable", "receive", "recovered",
    "reference", "references", "refused", "result", "run", "run_asked", "run_label", "run_labels",
    "run_names", "run_title", "runs_of", "sandbox", "sandbox_results", "search_figure", "search_trials", "searchable",
    "setting_title", "settings_in_words", "shared_mistakes", "shared_mistakes_figure", "spell_fit", "spell_method",
    "spelled", "start", "start_fits", "start_search", "summary", "task_answers", "task_labels", "task_list",
    "task_number", "train", "training_schema", "trials", "untrainable", "uploaded", "usually_searched",
    "value_in_words", "view", "wait_for", "what_if", "what_if_table", "when", "with_intervals", "worker_intervals",
    "worker_intervals_figure", "worker_intervals_table", "workers", "workspace",
]
# fmt: on
