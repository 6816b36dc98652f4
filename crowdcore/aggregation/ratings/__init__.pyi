from .base import (
    RatingAggregator as RatingAggregator,
    RatingResult as RatingResult,
    get as get,
    names as names,
    rating_aggregators as rating_aggregators,
)
from .mean import Mean as Mean, Median as Median
from .raykar_em import RaykarEM as RaykarEM
