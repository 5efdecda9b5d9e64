"""What a profile saves, and what ``headrace top`` shows, of a job of docs/guide/waiting.md: pictures of pages and screens.

python -m docs.building.waiting_pictures    # runs the job for some seconds, and takes both pictures with a Chromium
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from docs.building.drawings import PICTURES
from rich.console import Console
from rich.terminal_theme import MONOKAI

from examples.waiting import alexnet_job
from headrace.cli.top.view import view
from headrace.live.answering import answered

__all__ = ["main"]

_CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
_SECONDS: Final = 6.0
_WIDE: Final = 100


def main() -> None:
    """Takes the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        report, screen = Path(folder) / "report.html", Path(folder) / "top.html"
        alexnet_job.naive().profile(alexnet_job.step, seconds=_SECONDS).save(report)
        screen.write_text(_screen(), encoding="utf-8")
        _taken(report, PICTURES / "waiting-report.png", 980, 1150)
        _taken(screen, PICTURES / "top.png", 980, 220)


def _screen() -> str:
    """Returns the screen of ``headrace top`` while the job runs."""
    end_s = time.monotonic() + _SECONDS
    with iter(alexnet_job.naive().repeat()) as batches:
        for batch in batches:
            alexnet_job.step(*batch)
            if time.monotonic() > end_s:
                break
        told: dict[str, Any] = json.loads(answered(b'{"ask":"runs"}'))
    told["program"] = "train.py"
    console = Console(record=True, width=_WIDE, file=io.StringIO(), force_terminal=True)
    console.print(view([told]))
    return console.export_html(theme=MONOKAI, inline_styles=True)


def _taken(page: Path, picture: Path, width: int, height: int) -> None:
    browser = next(filter(None, map(shutil.which, _CHROMIUM)))
    words = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", "--force-device-scale-factor=1"]
    taking = [*words, f"--window-size={width},{height}", f"--screenshot={picture}", page.as_uri()]
    subprocess.run([browser, *taking], check=True, timeout=60, capture_output=True)


if __name__ == "__main__":
    main()
