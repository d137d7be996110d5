"""The real keeper, but its signals reach nobody and it gives up soon.

toothless_keeper.py RUN_DIR LOCK_FD, with the path of the keeper's source in KEEPER.
"""

import os
from pathlib import Path

source = os.environ["KEEPER"]
keeper = {"__name__": "keeper"}
exec(compile(Path(source).read_text(), source, "exec"), keeper)
keeper["signal_one"] = lambda *_: None
keeper["PATIENCE"] = 0.2
keeper["main"]()
