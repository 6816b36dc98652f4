"""All that the pages know of `crowdcore`; the only place that caches (`st.cache_*`) and the only caller."""

from crowdcore.core.errors import CrowdError as Refusal
from dashboard.services._cache import dataset, workspace
from dashboard.services.datasets import default_dataset, names, reference, references, uploaded, workers
from dashboard.services.items import Item, has_media, item
from dashboard.services.mistakes import (
    LAYERS,
    cell_tasks,
    cell_workers,
    in_words,
    mistake_cell,
    most_shared,
    shared_mistakes,
    shared_mistakes_figure,
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
from dashboard.services.tables import containing, csv
from dashboard.services.tasks import SHOWS, disagreement, task_answers, task_labels, task_list, task_number
from dashboard.services.uploads import MAPPED, accept, examine, receive

__all__ = [
    "LAYERS",
    "MAPPED",
    "SHOWS",
    "Item",
    "Refusal",
    "accept",
    "agreement",
    "agreement_figure",
    "agreement_table",
    "cell_tasks",
    "cell_workers",
    "class_table",
    "containing",
    "csv",
    "dataset",
    "default_dataset",
    "disagreement",
    "examine",
    "has_media",
    "in_words",
    "item",
    "mistake_cell",
    "most_shared",
    "names",
    "overview_data",
    "overview_figures",
    "receive",
    "reference",
    "references",
    "shared_mistakes",
    "shared_mistakes_figure",
    "summary",
    "task_answers",
    "task_labels",
    "task_list",
    "task_number",
    "uploaded",
    "workers",
    "workspace",
]
