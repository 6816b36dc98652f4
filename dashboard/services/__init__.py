"""What pages need beside exhibits: datasets and references by name, jobs, uploads; the only place of `st.cache_*`."""

from crowdcore.core.errors import CrowdError as Refusal
from dashboard.services import recovered, sandbox, sandbox_results, train
from dashboard.services._cache import dataset, without_server_paths, workspace
from dashboard.services.datasets import (
    default_dataset,
    names,
    offer,
    other_names,
    reference,
    references,
    uploaded,
    view,
)
from dashboard.services.estimates import estimate, refused
from dashboard.services.fits import Fit, labels_csv, start_fits, wait_for
from dashboard.services.items import Item, has_media, item, task_number
from dashboard.services.kept_uploads import Upload, delete_upload, digest_of, list_uploads, rename_upload, title
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
from dashboard.services.runs import (
    all_runs,
    curves,
    engine,
    forget,
    live_runs,
    log_lines,
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
    training_fault,
    trials,
    when,
)
from dashboard.services.searches import (
    Field,
    best_draft,
    search_exhibits,
    search_trials,
    searchable,
    start_search,
    usually_searched,
)
from dashboard.services.tables import containing, csv
from dashboard.services.train import (
    Draft,
    changed,
    draft_of,
    read_method,
    spell_method,
    start,
)
from dashboard.services.training_figures import curve_metrics, training_curves
from dashboard.services.uploads import MAPPED, accept, examine, get_ready, receive, receive_again

# fmt: off
__all__ = [
    "MAPPED", "Draft", "Field", "Fit", "Item", "Refusal", "Upload", "about_backbone", "about_method", "accept",
    "all_runs", "backbones", "best_draft", "changed", "check", "containing", "csv", "curve_metrics", "curves",
    "dataset", "default_dataset", "delete_upload", "devices", "digest_of", "draft_of", "engine", "estimate",
    "examine", "fields_of", "forget", "get_ready", "has_media", "item", "labels_csv", "learners", "list_uploads",
    "live_runs", "log_lines", "names", "offer", "other_names", "read_method", "readable", "receive",
    "receive_again", "recovered", "reference", "references", "refused", "rename_upload", "result", "run",
    "run_asked", "run_label", "run_labels", "run_names", "run_title", "runs_of", "sandbox", "sandbox_results",
    "search_exhibits", "search_trials", "searchable", "setting_title", "settings_in_words", "spell_method",
    "spelled", "start", "start_fits", "start_search", "task_number", "title", "train", "training_curves",
    "training_fault", "training_schema", "trials", "untrainable", "uploaded", "usually_searched", "value_in_words",
    "view", "wait_for", "when", "without_server_paths", "workspace",
]
# fmt: on
