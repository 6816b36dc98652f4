"""For the processes that are ours, on import: looking for garbage less often, as loading large packages makes none.

Python looks once in 700 new objects, and at everything there is whenever that has grown by a quarter.
"""

import gc

gc.set_threshold(50_000)
