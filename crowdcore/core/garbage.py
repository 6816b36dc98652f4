"""Raise the threshold of the garbage collector on import: loading large packages creates no garbage.

By default Python looks once in 700 new objects, and at all of them whenever they have grown by a quarter.
"""

import gc

gc.set_threshold(50_000)
