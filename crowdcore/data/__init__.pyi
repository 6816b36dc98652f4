from . import simulate as simulate, sources as sources
from .catalogue import (
    DatasetInfo as DatasetInfo,
    describe_datasets as describe_datasets,
    list_datasets as list_datasets,
    load_dataset as load_dataset,
    load_ratings as load_ratings,
)
from .columns import MappingError as MappingError
from .dataset import (
    SPLITS as SPLITS,
    CrowdDataset as CrowdDataset,
    Media as Media,
    SimulatedTruth as SimulatedTruth,
)
from .dictionary import neutralise as neutralise
from .frames import (
    examine_frame as examine_frame,
    from_frame as from_frame,
    ratings_from_frame as ratings_from_frame,
)
from .media import read_images as read_images
from .ratings import RatingDataset as RatingDataset
from .reading import (
    Import as Import,
    RatingImport as RatingImport,
    examine as examine,
    examine_ratings as examine_ratings,
    read_dataset as read_dataset,
    read_ratings as read_ratings,
)
from .report import (
    Finding as Finding,
    ImportReport as ImportReport,
    Variants as Variants,
)
from .rows import Rows as Rows
from .sentences import Sentences as Sentences
from .settings import (
    RatingSettings as RatingSettings,
    ReadSettings as ReadSettings,
)
from .splitting import split_tasks as split_tasks, take_tasks as take_tasks
from .writers import (
    write_aggregated as write_aggregated,
    write_conll as write_conll,
    write_folder as write_folder,
    write_long as write_long,
    write_wide as write_wide,
)
from .writers.imports import write_import as write_import
