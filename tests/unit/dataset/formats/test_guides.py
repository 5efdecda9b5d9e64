"""The programs in the guide's pages on shards and databases run, and print what stands beside their prints; so does that on chance."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

GUIDE = Path(__file__).parents[4] / "docs" / "guide"


def run_page(name: str, given: dict[str, Any]) -> list[str]:
    """Runs a page's programs as one, and gives what it says that they print."""
    blocks = re.findall(r"^```python\n(.*?)^```", (GUIDE / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 2
    program = "\n".join(blocks)
    exec(program, given)
    return re.findall(r"^ *print\(.*\)  # (.*)$", program, re.MULTILINE)


def npy(array: np.ndarray) -> bytes:
    with io.BytesIO() as file:
        np.save(file, array)
        return file.getvalue()


@pytest.mark.parametrize(
    ("page", "given"), [("tar.md", {"npy": npy, "load_npy": lambda data: np.load(io.BytesIO(data))}), ("sql.md", {})]
)
def test_a_page_prints_what_it_says(
    page: str, given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run_page(page, given)
    printed = capsys.readouterr().out.splitlines()
    assert said
    # In a loop the same comes several times.
    assert [line for line, _ in itertools.groupby(line for line in printed if line in said)] == said


def test_the_function_that_draws_is_called_as_the_page_on_images_defines_it() -> None:
    (program,) = re.findall(
        r"^```python\n(def augment.*?)^```", (GUIDE / "images.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    defined: dict[str, Any] = {"hr": hr}
    exec(program, defined)
    image = np.zeros((240, 240, 3), np.uint8)
    ds = hr.Dataset.from_tensors((image, 7)).random_map(defined["augment"])
    assert [(cropped.shape, label) for cropped, label in ds] == [((200, 200, 3), 7)]
