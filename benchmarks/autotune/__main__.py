"""python benchmarks/autotune: finds its neighbours as the other scripts of this folder do."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from autotune.command import main

    main()
