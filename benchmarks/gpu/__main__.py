"""python benchmarks/gpu: finds its neighbours as the other scripts of this folder do, and the examples beside them."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    benchmarks = Path(__file__).resolve().parent.parent
    sys.path[:1] = [str(benchmarks), str(benchmarks.parent)]
    from gpu.command import main

    sys.exit(main())
