"""Two programs that differ in one place give other elements, or have one key; never other elements under one key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from tests.laws.edits import EDITS, WAYS

_RUNNER: Final = Path(__file__).with_name("keys_of_programs.py")
_HEAD: Final = "import headrace as hr\n"


def _programs(folder: Path) -> dict[tuple[str, str, int, bool], list[str | None]]:
    """The programs: by edit, way, which text, and whether they have a file."""
    programs: dict[tuple[str, str, int, bool], list[str | None]] = {}
    for name, edit in EDITS.items():
        ways = {"": ""} if "\nds = " in f"\n{edit.main}" else WAYS
        for way, use in ways.items():
            for which, text in enumerate(edit.texts):
                place = folder / f"{len(programs)}"
                (place / "pkg").mkdir(parents=True)
                main = (
                    _HEAD + edit.main.replace("@@", "\0") if "@@" in edit.main else _HEAD + edit.main.replace("@", "\0")
                )
                source = main.replace("\0", text) + "\n" + use + "\n"
                (place / "program.py").write_text(source)
                for file, content in (("cfg.py", edit.cfg), ("pkg/sub.py", edit.sub), ("a.txt", edit.file)):
                    (place / file).write_text(content.replace("@", text))
                    os.utime(place / file, ns=(10**18, 10**18 + (which if file == "a.txt" and edit.file else 0)))
                (place / "pkg" / "__init__.py").write_text("")
                programs[name, way, which, True] = [str(place), None]
                programs[name, way, which, False] = [str(place), source]
    return programs


def _run(programs: list[list[str | None]], hash_seed: str) -> list[list[str]]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(_RUNNER)],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    assert done.returncode == 0, done.stderr
    found: list[list[str]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The key and the elements of every program, in two processes; in the second one in the other order."""
    programs = _programs(tmp_path_factory.mktemp("programs"))
    names, given = list(programs), list(programs.values())
    one = dict(zip(names, _run(given, "1"), strict=True))
    two = dict(zip(reversed(names), _run(given[::-1], "2"), strict=True))
    return {"one": one, "two": two}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_that_changes_elements_changes_the_key(name: str, found: dict[str, Any]) -> None:
    tried = {key[1:] for key in found["one"] if key[0] == name}
    others = 0
    for way, which, has_file in tried:
        if which == 1:
            continue
        (key, elements), (other_key, other) = (found["one"][name, way, each, has_file] for each in (0, 1))
        if elements != other:
            others += 1
            assert not key.startswith("raw"), (way, has_file, key)
            assert key != other_key or key.startswith("refused"), (way, has_file, elements, other)
    assert others, "the edit changes nothing"


@pytest.mark.parametrize("name", EDITS)
def test_one_program_has_one_key_in_every_process(name: str, found: dict[str, Any]) -> None:
    keys = {key: value[0] for key, value in found["one"].items() if key[0] == name}
    assert keys == {key: value[0] for key, value in found["two"].items() if key[0] == name}
