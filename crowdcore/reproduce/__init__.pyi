from .carry_out import (
    ENTRIES as ENTRIES,
    get as get,
    look as look,
    start as start,
    wait as wait,
)
from .entry import (
    SCALES as SCALES,
    Entry as Entry,
    Found as Found,
    Measure as Measure,
    Part as Part,
    Scale as Scale,
)
from .shown import (
    footnoted as footnoted,
    our_figures as our_figures,
    told as told,
    write as write,
)
