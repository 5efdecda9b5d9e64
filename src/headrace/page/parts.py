"""The pieces of a page, as HTML. Arguments named ``body``, ``rows`` and the like are HTML; all others are text, and escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from headrace.frozen import frozen
from headrace.observe.tables import counted
from headrace.page.machine import Machine

__all__ = ["Lane", "bar", "entries", "figure", "header", "key", "lanes", "machine_entries", "note", "section", "table"]


def header(eyebrow: str, headline: str, lead: str, kind: str = "") -> str:
    """Returns what a page begins with; a headline that is a ``"sentence"`` is set smaller."""
    opening = f'<h1 class="{kind}">' if kind else "<h1>"
    return (
        f'<header><p class="eyebrow">{escape(eyebrow)}</p>{opening}{escape(headline)}</h1>'
        f'<p class="lead">{escape(lead)}</p></header>'
    )


def section(heading: str, body: str) -> str:
    """Returns a part of a page under a heading."""
    return f"<section>\n<h2>{escape(heading)}</h2>\n{body}\n</section>\n"


def note(text: str) -> str:
    """Returns a paragraph that explains what stands beside it."""
    return f'<p class="note">{escape(text)}</p>'


def key(shown: Iterable[tuple[str, str]]) -> str:
    """Returns what the colours of a picture mean: the attributes of each patch, as HTML, and its text."""
    return (
        f'<ul class="key">{"".join(f"<li><i {attributes}></i>{escape(text)}</li>" for attributes, text in shown)}</ul>'
    )


def figure(svg: str, caption: str) -> str:
    """Returns a picture with what it shows in words, which a screen reader reads in its place."""
    told = escape(caption)
    return f'<figure role="img" aria-label="{told}"><div class="scroll">{svg}</div><figcaption>{told}</figcaption></figure>'


def table(headings: Sequence[str], rows: Iterable[str], attributes: str = "") -> str:
    """Returns a table, which scrolls by itself where the page is narrow."""
    heads = "".join(f"<th scope='col'>{escape(heading)}</th>" for heading in headings)
    opening = f"<table {attributes}>" if attributes else "<table>"
    return f'<div class="scroll">{opening}<thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def bar(time_s: float, longest_s: float, told: str, kind: str = "") -> str:
    """Returns a time as a bar beside what is told of it, in a cell of a table."""
    width = f"{time_s / longest_s:.1%}" if longest_s > 0 else "0%"
    return f'<span class="bar{kind and f" {kind}"}"><i style="width:{width}"></i><span>{escape(told)}</span></span>'


@frozen
class Lane:
    """A line of a picture in which times lie side by side on one axis.

    Attributes:
        name: what the time is of.
        wait_s: its part that was waited, which comes first and is hatched.
        rest_s: the rest.
        told: the time in words.
        style: of its colour.
    """

    name: str
    wait_s: float
    rest_s: float
    told: str
    style: str


def lanes(shown: Sequence[Lane]) -> str:
    """Returns a picture of times on one axis, the longest as wide as the picture."""
    longest_s = max((lane.wait_s + lane.rest_s for lane in shown), default=0.0) or 1.0
    body = "".join(
        f'<span class="name">{escape(lane.name)}</span><span class="whole">{escape(lane.told)}</span>'
        f'<span class="track" {lane.style}>{_part("wait", lane.wait_s / longest_s)}{_part("", lane.rest_s / longest_s)}</span>'
        for lane in shown
    )
    return f'<div class="race">{body}</div>'


def _part(kind: str, share: float) -> str:
    return f'<span class="{kind}" style="width:{share:.2%}"></span>' if share > 0 else ""


def entries(shown: Mapping[str, str]) -> str:
    """Returns names with what belongs to them."""
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in shown.items())}</dl>"


def machine_entries(machine: Machine) -> dict[str, str]:
    """Returns what figures were measured on, without any name of host or user."""
    return {
        "Processor": f"{machine.cpu}, {counted(machine.cores, 'core')}",
        "Memory": f"{machine.memory_bytes / 2**30:.1f} GiB",
        "System": f"{machine.system}, Python {machine.python}",
        "Libraries": ", ".join(f"{library} {version}" for library, version in machine.versions.items()),
    }
