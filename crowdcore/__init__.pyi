from . import aggregation as aggregation
from . import analysis as analysis
from . import data as data
from . import exhibits as exhibits
from . import figures as figures
from . import learning as learning
from . import runs as runs
from .core.errors import (
    CrowdError as CrowdError,
)
from .core.errors import (
    DataError as DataError,
)
from .core.errors import (
    SettingError as SettingError,
)
from .data import (
    CrowdDataset as CrowdDataset,
)
from .data import (
    from_frame as from_frame,
)
from .data import (
    list_datasets as list_datasets,
)
from .data import (
    load_dataset as load_dataset,
)
from .data import (
    read_dataset as read_dataset,
)

__version__: str
