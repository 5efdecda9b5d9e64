"""The reference pages are complete: whatever is public has a page, an example, and a line among the names of other libraries."""

from __future__ import annotations

import inspect
import pkgutil
import re
import types
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from docs.building.pictures import PICTURES, picture_of
from docs.building.surface import Page, dataset_members, examples_of, pages

import headrace as hr
import headrace.testing.faults

ROOT = Path(__file__).parents[2]
PAGES = pages()
# The first column of the tables.
OURS = re.findall(r"^\| (.*?) \|", (ROOT / "docs/guide/names.md").read_text(encoding="utf-8"), re.MULTILINE)


def public_names() -> set[str]:
    """Every name that a user may write, found apart from how the pages find them."""
    names = {f"hr.Dataset.{name}" for name in dir(hr.Dataset) if not name.startswith("_")}
    names |= {f"hr.testing.{name}" for name in headrace.testing.__all__}
    names |= {f"hr.testing.faults.{name}" for name in headrace.testing.faults.__all__}
    for name in hr.__all__:
        value = getattr(hr, name)
        names |= (
            {f"hr.{name}.{inner}" for inner in value.__all__} if isinstance(value, types.ModuleType) else {f"hr.{name}"}
        )
    return names


def test_every_public_name_is_on_exactly_one_page() -> None:
    explained = [name for page in PAGES for name in page.names]
    assert set(explained) == public_names()
    assert len(explained) == len(set(explained))


def test_every_operation_has_a_page_of_its_own() -> None:
    pages_of_operations = {page.title for page in PAGES if page.path == f"reference/operations/{page.title}.md"}
    assert pages_of_operations == set(dataset_members())


def test_no_two_pages_share_a_place() -> None:
    assert len({page.path for page in PAGES}) == len(PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_what_a_page_explains_is_where_it_looks(page: Page) -> None:
    for target in page.targets:
        assert inspect.getdoc(pkgutil.resolve_name(target)), f"{target} has no docstring"


@pytest.mark.parametrize("name", sorted(dataset_members()))
def test_every_operation_shows_an_example(name: str) -> None:
    assert examples_of(dataset_members()[name])


@pytest.mark.parametrize("name", sorted(dataset_members()))
def test_every_operation_stands_beside_other_libraries_names(name: str) -> None:
    assert any(re.search(rf"\b{name}\b", row) for row in OURS), f"docs/guide/names.md does not mention {name}"


@pytest.mark.parametrize("name", sorted(set(PICTURES) & set(dataset_members())))
def test_every_picture_is_drawn_from_its_example(name: str) -> None:
    picture = picture_of(name)
    assert picture is not None
    drawing = ET.fromstring(picture)
    values = [text.text for text in drawing.iter() if text.get("class") == "hr-value"]
    assert values
    assert "\n" not in picture, "Markdown would end the picture there"
