"""Reads pages as a browser would, for the tests of whatever makes one."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Checks that tags are closed in turn, and collects ids, addresses and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == [], "not well formed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def check_needs_nothing(page: str) -> Reader:
    """Asserts that a page is well formed, loads nothing and runs nothing; returns what was read of it."""
    read = Reader(page)
    assert all(address.startswith("#") for address in read.addresses)
    assert not re.search(r"<script|<link|@import|url\((?!#)| on[a-z]+=", page)
    assert len(read.ids) == len(set(read.ids))
    assert "prefers-color-scheme: dark" in page
    return read
