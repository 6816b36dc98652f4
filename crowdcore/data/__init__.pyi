from . import simulate as simulate
from . import sources as sources
from .catalogue import (
    DatasetInfo as DatasetInfo,
)
from .catalogue import (
    describe_datasets as describe_datasets,
)
from .catalogue import (
    list_datasets as list_datasets,
)
from .catalogue import (
    load_dataset as load_dataset,
)
from .columns import MappingError as MappingError
from .dataset import (
    SPLITS as SPLITS,
)
from .dataset import (
    CrowdDataset as CrowdDataset,
)
from .dataset import (
    Media as Media,
)
from .dataset import (
    SimulatedTruth as SimulatedTruth,
)
from .doctor import (
    Import as Import,
)
from .doctor import (
    examine as examine,
)
from .doctor import (
    read_dataset as read_dataset,
)
from .frames import (
    examine_frame as examine_frame,
)
from .frames import (
    from_frame as from_frame,
)
from .report import (
    Finding as Finding,
)
from .report import (
    ImportReport as ImportReport,
)
from .rows import Rows as Rows
from .settings import ReadSettings as ReadSettings
from .writers import (
    neutralise as neutralise,
)
from .writers import (
    write_aggregated as write_aggregated,
)
from .writers import (
    write_folder as write_folder,
)
from .writers import (
    write_long as write_long,
)
