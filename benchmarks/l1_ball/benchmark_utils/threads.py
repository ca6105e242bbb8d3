"""How many threads a solver may use: what the environment says, one by default."""

import os

THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
