"""One contestant under one fault, in a process of its own: it reads, and writes down what comes and when.

It asks for the next element after an error, so that a library that goes on is seen to, unless the same comes again and again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from faults.contestants import CONTESTANTS  # noqa: E402 - found there
from faults.function import AT, COUNT, function_of, note  # noqa: E402 - found there

# One that gives the same error each time is left after so many.
_MOST_ERRORS: Final = 3


def main() -> None:
    contestant, fault, place = sys.argv[1:]
    folder = Path(place)
    with (folder / "events").open("w", buffering=1) as events:

        def say(*words: Any) -> None:
            events.write(json.dumps([time.monotonic(), *words]) + "\n")

        try:
            _read(contestant, fault, folder, say)
        except KeyboardInterrupt:
            say("interrupted")
            raise


def _read(contestant: str, fault: str, folder: Path, say: Any) -> None:
    elements = CONTESTANTS[contestant].opened(function_of(fault, folder))
    errors: list[str] = []
    for _ in range(2 * COUNT):
        try:
            number = int(next(elements))
        except StopIteration:
            break
        except Exception as error:  # noqa: BLE001 - whatever a library says
            errors.append(" ".join(str(error).split())[:200])
            say("error", type(error).__name__, errors[-1])
            if errors[-_MOST_ERRORS:] == [errors[-1]] * _MOST_ERRORS:
                break
            continue
        say("element", number)
        if number == AT and fault == "parent":
            note(folder / "fault")
            os.kill(os.getpid(), signal.SIGKILL)
        if number == AT and fault == "ctrl_c":
            note(folder / "fault")
            os.killpg(0, signal.SIGINT)
    say("end")


if __name__ == "__main__":
    main()
