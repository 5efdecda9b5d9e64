"""Follows a page in an empty folder, as a reader would.

    python -m tests.pages docs/start.md
    python -m tests.pages docs/start.md --write    # what is printed is written into the page; read it

The exit status is 0 where everything prints what the page shows, 1 where something does not, and 77 where all that could
be run does, and something needs a package that is not installed here.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from tests.pages.page import Command, File, Part, same_output, steps_of

ROOT = Path(__file__).parents[2]
_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)")


class _Reader:
    """One who follows a page, in the current folder."""

    def __init__(self, page: Path, *, writes: bool) -> None:
        self._page = page
        self._text = page.read_text(encoding="utf-8")
        self._writes = writes
        self._written: list[tuple[int, int, str]] = []
        self._names: dict[str, Any] = {"__name__": "__page__"}
        self._lines = 0  # of the page's own program so far
        self.missing: set[str] = set()

    def follow(self) -> None:
        """Does all that the page shows.

        Raises:
            SystemExit: something prints what the page does not show.
        """
        for step in steps_of(self._text):
            match step:
                case File():
                    Path(step.name).parent.mkdir(parents=True, exist_ok=True)
                    Path(step.name).write_text(step.text, encoding="utf-8")
                case Command():
                    self._run(step)
                case Part() if not self._exec(step):
                    break
        for start, end, printed in reversed(self._written):
            self._text = self._text[:start] + printed + self._text[end:]
        if self._writes:
            self._page.write_text(self._text, encoding="utf-8")

    def _run(self, command: Command) -> None:
        done = subprocess.run(command.words, shell=True, capture_output=True, text=True, check=False)
        missing = _MISSING.findall(done.stderr)
        if missing:
            self.missing.update(missing)
        elif "Traceback" in done.stderr:
            self._refuse(f"$ {command.words}", command.prints, done.stdout + done.stderr)
        elif self._writes:
            self._written.append((command.start, command.start + len(command.prints), done.stdout))
        elif not same_output(command.prints, done.stdout):
            self._refuse(f"$ {command.words}", command.prints, done.stdout)

    def _exec(self, part: Part) -> bool:
        printed = io.StringIO()
        # As in the file that a reader makes of the parts: errors and plans name it with the line.
        code = compile("\n" * self._lines + part.code, "program.py", "exec")
        self._lines += part.code.count("\n")
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, self._names)
        except ModuleNotFoundError as error:
            self.missing.add(str(error.name))
            return False  # what follows may need what this part defines
        except BaseException:
            traceback.print_exc()
            self._refuse(f"line {part.line}", part.prints or "", printed.getvalue())
        if self._writes and part.prints is not None:
            self._written.append((part.start, part.start + len(part.prints), printed.getvalue()))
        elif not part.prints_what_is_said(printed.getvalue()):
            self._refuse(f"line {part.line}", part.prints or "", printed.getvalue())
        return True

    def _refuse(self, what: str, shown: str, printed: str) -> None:
        sys.exit(f"{self._page.name}, {what}\n--- shown\n{shown}\n--- printed\n{printed}")


def main() -> None:
    """Follows the page that the command line names."""
    page = Path(sys.argv[1]).resolve()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the networks are tiny: threads of theirs only wait for each other
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow tells of each machine's own instructions
    reader = _Reader(page, writes="--write" in sys.argv)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        sys.path.insert(0, folder)
        reader.follow()
    if reader.missing:
        print(f"not installed: {', '.join(sorted(reader.missing))}")
        sys.exit(77)


if __name__ == "__main__":
    main()
