from .artefacts import (
    export_model as export_model,
    learnt as learnt,
    log_lines as log_lines,
    predictions as predictions,
    reference as reference,
    result as result,
)
from .engine import (
    EngineState as EngineState,
    WorkerState as WorkerState,
    cancel as cancel,
    engine_state as engine_state,
    ensure_engine as ensure_engine,
    resume as resume,
    run_again as run_again,
    set_priority as set_priority,
    stop_engine as stop_engine,
    submit as submit,
)
from .estimation import (
    Estimate as Estimate,
    estimate as estimate,
)
from .listing import (
    best_runs as best_runs,
    dataset_names as dataset_names,
    differing as differing,
    matching as matching,
    run_table as run_table,
    settings_table as settings_table,
    short_names as short_names,
)
from .mlflow_models import (
    log_exhibits as log_exhibits,
    log_mlflow_model as log_mlflow_model,
    save_mlflow_model as save_mlflow_model,
)
from .run import (
    ENDED as ENDED,
    STATES as STATES,
    Choice as Choice,
    Range as Range,
    Run as Run,
    RunSpec as RunSpec,
    SearchPlan as SearchPlan,
    State as State,
    command_line as command_line,
)
from .searching import (
    search as search,
    search_importances as search_importances,
    search_trials as search_trials,
    searchable as searchable,
    usually_searched as usually_searched,
)
from .store import (
    change_tags as change_tags,
    curves as curves,
    delete as delete,
    get_run as get_run,
    list_runs as list_runs,
    rename as rename,
    set_note as set_note,
)
from .workspace import Workspace as Workspace
from .workspace_check import (
    Finding as Finding,
    backup_workspace as backup_workspace,
    check_workspace as check_workspace,
    restore_workspace as restore_workspace,
)
