"""Makes the pages of the reference while MkDocs builds the site: nothing of them lies in the repository."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page as MkDocsPage

sys.path.insert(0, str(Path(__file__).parents[2]))  # MkDocs loads this file by its path, apart from any package

from docs.building.drawing import placed
from docs.building.drawings import drawn
from docs.building.surface import Page, dataset_members, first_line, pages

__all__ = ["on_config", "on_files", "on_page_content", "on_page_markdown"]

_OVERVIEW = "reference/index.md"
# The name of an operation at the start of a table's row.
_OURS = re.compile(r"^\| (?P<code>`(?:ds|a|hr\.Dataset)\.(?P<name>\w+)[^`]*`)", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages into the navigation, and the decisions behind them."""
    sections: dict[str, Any] = {}
    for page in pages():
        place = sections
        for heading in page.section:
            place = place.setdefault(heading, {})
        place[page.title] = page.path
    assert config.nav is not None  # mkdocs.yml has it
    for entry in config.nav:
        if "Reference" in entry:
            entry["Reference"] = [{"Overview": _OVERVIEW}, *_listed(sections)]
        if "Decisions" in entry:
            entry["Decisions"] = [{"All": "decisions/0000-index.md"}, *_decisions(Path(config.docs_dir))]
    return config


def _listed(sections: dict[str, Any]) -> list[dict[str, Any]]:
    return [{title: _listed(part) if isinstance(part, dict) else part} for title, part in sections.items()]


def _decisions(docs: Path) -> list[dict[str, str]]:
    found = sorted((docs / "decisions").glob("[0-9]*.md"))[1:]
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in found]
    return [{title: f"decisions/{path.name}"} for title, path in zip(titles, found, strict=True)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    for page in pages():
        files.append(File.generated(config, page.path, content=_content(page)))
    files.append(File.generated(config, _OVERVIEW, content=_overview()))
    return files


def on_page_markdown(markdown: str, page: MkDocsPage, **_: Any) -> str:
    """Makes links of our names in the tables of other libraries' names."""
    return _OURS.sub(_linked, markdown) if page.file.src_uri == "guide/names.md" else markdown


def on_page_content(content: str, **_: Any) -> str:
    """Puts the drawings into the pages, so that they follow the site's switch for light and dark."""
    return placed(content, drawn()) if "pictures/" in content else content


def _linked(found: re.Match[str]) -> str:
    code, name = found["code"], found["name"]
    return f"| [{code}](../reference/operations/{name}.md)" if name in dataset_members() else f"| {code}"


def _content(page: Page) -> str:
    of_several = page.summary or not page.targets
    parts = [f"# {page.title}"] if of_several else []
    parts += [page.summary] if page.summary else []
    if len(page.targets) < len(page.names):
        parts.append(_constants(page))
    for number, target in enumerate(page.targets):
        parts.append(_documented(target, 2 if of_several or number else 1, _members(page)))
    return "\n\n".join(parts)


def _members(page: Page) -> list[str]:
    """Which members of its classes a page shows: all, their own, or none where each has a page of its own."""
    if page.title.endswith("Dataset"):
        return ["members: false"]
    return [] if page.title == "hr.errors" else ["inherited_members: true"]


def _documented(target: str, level: int, members: list[str]) -> str:
    options = [f"heading_level: {level}", *members]
    return "\n".join([f"::: {target}", "    options:", *(f"      {option}" for option in options)])


def _constants(page: Page) -> str:
    """A table of what is neither a class nor a function."""
    rows = []
    for name in page.names:
        module, _, last = name.rpartition(".")
        value = getattr(importlib.import_module(module.replace("hr", "headrace", 1)), last)
        if not callable(value):
            rows.append(f"| `{name}` | `{value!r}` |")
    return "\n".join(["| name | value |", "|---|---|", *rows]) if rows else ""


def _overview() -> str:
    """Every operation in one line, with a link."""
    lines = ["# Reference", "Every name of the public surface has its page here, made from its docstring."]
    section: tuple[str, ...] = ()
    members = dataset_members()
    for page in pages():
        if page.section != section:
            section = page.section
            lines.append(f"\n## {section[-1]}\n\n| name | what it is |\n|---|---|")
        link = page.path.removeprefix("reference/")
        about = first_line(members[page.title]) if page.title in members else _about(page)
        lines.append(f"| [`{page.title}`]({link}) | {about} |")
    return "\n".join(lines)


def _about(page: Page) -> str:
    if page.summary or not page.targets:
        return page.summary
    module, _, name = page.targets[0].rpartition(".")
    return first_line(getattr(importlib.import_module(module), name))
