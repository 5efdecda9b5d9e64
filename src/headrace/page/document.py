"""A whole page: it holds no script, loads nothing, and follows the reader's choice of light or dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from headrace.page.machine import Machine

__all__ = ["document"]


def document(title: str, header: str, sections: Iterable[str], machine: Machine, *, style: str = "") -> str:
    """Returns a page as HTML.

    Args:
        title: what a browser shows above it, as text.
        header: what stands first, as HTML.
        sections: the others, as HTML.
        machine: names the version of headrace at the end.
        style: CSS rules that no other page has.
    """
    shared = files("headrace.page").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{shared}{style}</style>\n</head>\n<body>\n"
        f"{header}\n<main>\n{''.join(sections)}</main>\n"
        f"<footer>Made by headrace {escape(machine.versions.get('headrace', ''))}.</footer>\n</body>\n</html>\n"
    )
