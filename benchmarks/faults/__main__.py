"""python benchmarks/faults: headrace and its peers under the same faults, a table in docs/reliability.md.

python benchmarks/faults                                    everything, and the page
python benchmarks/faults --only process,torch --faults killed,hangs
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "reliability.md"


def main() -> None:
    from faults.contestants import CONTESTANTS
    from faults.function import FAULTS
    from faults.section import write_page
    from faults.watching import Outcome, outcome_of

    parser = argparse.ArgumentParser(prog="benchmarks/faults", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default=",".join(CONTESTANTS), help="which contestants (default: %(default)s)")
    parser.add_argument("--faults", default=",".join(FAULTS), help="which faults (default: %(default)s)")
    parser.add_argument("--page", type=Path, help="the page to write (default: docs/reliability.md after a whole run)")
    options = parser.parse_args()
    contestants, chosen = options.only.split(","), options.faults.split(",")
    outcomes: dict[tuple[str, str], Outcome] = {}
    for fault in chosen:
        for contestant in contestants:
            outcomes[fault, contestant] = outcome = outcome_of(contestant, fault)
            print(f"{fault:10} {contestant:11} {outcome}", flush=True)
    is_whole = set(contestants) == set(CONTESTANTS) and set(chosen) == set(FAULTS)
    page = options.page or (PAGE if is_whole else None)
    if page is not None:
        write_page(page, outcomes)


def alone_with_its_memory() -> None:
    """Goes on with a /dev/shm of its own where this user may: what peers leave there is then counted exactly, and goes."""
    import os
    import subprocess

    script = 'mount -t tmpfs tmpfs /dev/shm && exec "$0" "$@"'
    if "HEADRACE_FAULTS_ALONE" in os.environ:
        return
    if subprocess.run(["unshare", "-m", "sh", "-c", script, "true"], capture_output=True, check=False).returncode == 0:
        os.environ["HEADRACE_FAULTS_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", script, sys.executable, *sys.argv])


if __name__ == "__main__":
    alone_with_its_memory()
    sys.path[0] = str(HERE.parent)
    main()
