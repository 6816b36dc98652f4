from . import (
    aggregation as aggregation,
    analysis as analysis,
    data as data,
    exhibits as exhibits,
    figures as figures,
    learning as learning,
    marks as marks,
    runs as runs,
    testing as testing,
)
from .analysis import check as check
from .core.errors import (
    CrowdError as CrowdError,
    DataError as DataError,
    SettingError as SettingError,
)
from .data import (
    CrowdDataset as CrowdDataset,
    RatingDataset as RatingDataset,
    from_frame as from_frame,
    list_datasets as list_datasets,
    load_dataset as load_dataset,
    load_ratings as load_ratings,
    ratings_from_frame as ratings_from_frame,
    read_dataset as read_dataset,
    read_ratings as read_ratings,
)

__version__: str
