"""What pages need beside exhibits: datasets and references by name, jobs, uploads; the only place of `st.cache_*`."""

from crowdcore.core import errors
from dashboard.services._cache import *
from dashboard.services.datasets import *
from dashboard.services.embedding import *
from dashboard.services.estimates import *
from dashboard.services.fits import *
from dashboard.services.kept_uploads import *
from dashboard.services.learners import *
from dashboard.services.marks import *
from dashboard.services.runs import *
from dashboard.services.searches import *
from dashboard.services.train import *
from dashboard.services.training_figures import *
from dashboard.services.uploads import *

Refusal = errors.CrowdError
