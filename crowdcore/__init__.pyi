from . import (
    aggregation as aggregation,
    analysis as analysis,
    data as data,
    exhibits as exhibits,
    figures as figures,
    learning as learning,
    runs as runs,
)
from .analysis import check as check
from .core.errors import (
    CrowdError as CrowdError,
    DataError as DataError,
    SettingError as SettingError,
)
from .data import (
    CrowdDataset as CrowdDataset,
    from_frame as from_frame,
    list_datasets as list_datasets,
    load_dataset as load_dataset,
    read_dataset as read_dataset,
)

__version__: str
