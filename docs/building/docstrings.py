"""What griffe is told about our docstrings: which section shows an example, and where a picture belongs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parents[2]))  # griffe loads this file by its path, apart from any package

from docs.building.pictures import picture_of
from docs.building.surface import pages

__all__ = ["Illustrated"]

_HEADING = re.compile(r"^(\s*)Example:$", re.MULTILINE)


class Illustrated(griffe.Extension):  # type: ignore[misc]  # griffe is no part of the types that are checked
    """Changes the docstrings from which the pages are made, not the files."""

    def __init__(self) -> None:
        super().__init__()
        operations = [page for page in pages() if page.path.startswith("reference/operations/")]
        self._operations = {page.targets[0]: page.title for page in operations}

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Calls ``Example:`` what griffe calls it, and puts the picture behind the first line."""
        if obj.docstring is None:
            return
        text = _HEADING.sub(r"\1Examples:", obj.docstring.value)
        picture = picture_of(self._operations.get(obj.path, ""))
        if picture is not None:
            first, _newline, rest = text.partition("\n")
            text = f"{first}\n\n{picture}\n{rest}"
        obj.docstring.value = text
