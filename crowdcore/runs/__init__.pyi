from .artefacts import (
    export_model as export_model,
)
from .artefacts import (
    log_lines as log_lines,
)
from .artefacts import (
    predictions as predictions,
)
from .artefacts import (
    result as result,
)
from .commands import command_line as command_line
from .engine import (
    EngineState as EngineState,
)
from .engine import (
    WorkerState as WorkerState,
)
from .engine import (
    engine_state as engine_state,
)
from .engine import (
    ensure_engine as ensure_engine,
)
from .engine import (
    stop_engine as stop_engine,
)
from .estimation import (
    Estimate as Estimate,
)
from .estimation import (
    estimate as estimate,
)
from .listing import (
    best_runs as best_runs,
)
from .listing import (
    dataset_names as dataset_names,
)
from .listing import (
    differing as differing,
)
from .listing import (
    matching as matching,
)
from .listing import (
    run_table as run_table,
)
from .listing import (
    settings_table as settings_table,
)
from .listing import (
    short_names as short_names,
)
from .marks import (
    change_tags as change_tags,
)
from .marks import (
    rename as rename,
)
from .marks import (
    set_note as set_note,
)
from .queue import (
    cancel as cancel,
)
from .queue import (
    resume as resume,
)
from .queue import (
    run_again as run_again,
)
from .queue import (
    set_priority as set_priority,
)
from .queue import (
    submit as submit,
)
from .references import reference as reference
from .run import (
    ENDED as ENDED,
)
from .run import (
    STATES as STATES,
)
from .run import (
    Run as Run,
)
from .run import (
    State as State,
)
from .searching import (
    search as search,
)
from .searching import (
    search_importances as search_importances,
)
from .searching import (
    search_trials as search_trials,
)
from .space import (
    Choice as Choice,
)
from .space import (
    Range as Range,
)
from .space import (
    SearchPlan as SearchPlan,
)
from .spec import RunSpec as RunSpec
from .store import (
    curves as curves,
)
from .store import (
    delete as delete,
)
from .store import (
    get_run as get_run,
)
from .store import (
    list_runs as list_runs,
)
from .workspace import Workspace as Workspace
