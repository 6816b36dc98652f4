from .aggregators import (
    AGGREGATOR_CHECKS as AGGREGATOR_CHECKS,
    check_aggregator as check_aggregator,
)
from .crowds import (
    featured_crowd as featured_crowd,
    rearrange as rearrange,
    simulate_crowd as simulate_crowd,
    widen as widen,
)
from .methods import (
    METHOD_CHECKS as METHOD_CHECKS,
    check_method as check_method,
)
from .readers import (
    READER_CHECKS as READER_CHECKS,
    check_reader as check_reader,
)
