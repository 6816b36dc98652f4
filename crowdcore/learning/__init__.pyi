from . import backbones as backbones, methods as methods
from .api import (
    split_settings as split_settings,
    sweep as sweep,
    train as train,
    train_ratings as train_ratings,
)
from .classifier import CrowdClassifier as CrowdClassifier
from .comparison.summary import compare as compare
from .embedding import Embedded as Embedded, embed as embed
from .networks.texts import TextFeatures as TextFeatures, text_features as text_features
from .ratings.result import (
    RATING_ROWS as RATING_ROWS,
    RatingsResult as RatingsResult,
    compare_ratings as compare_ratings,
)
from .recovery.plan import RecoveryPlan as RecoveryPlan
from .recovery.study import (
    RecoveryStudy as RecoveryStudy,
    study_recovery as study_recovery,
)
from .results.predictions import tagged_spans as tagged_spans, worker_counts as worker_counts
from .results.result import TrainingResult as TrainingResult
from .results.result_files import load_ratings_result as load_ratings_result, load_result as load_result
from .settings import TrainSettings as TrainSettings
from .topics.classes import TopicModel as TopicModel, TopicSettings as TopicSettings, fit_topics as fit_topics
from .topics.ratings import (
    RatingTopicModel as RatingTopicModel,
    RatingTopicSettings as RatingTopicSettings,
    fit_rating_topics as fit_rating_topics,
)
from .training.events import (
    EpochEvent as EpochEvent,
    Event as Event,
    NoteEvent as NoteEvent,
)
