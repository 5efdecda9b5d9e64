"""The pieces of a page, as HTML. Arguments named ``body``, ``rows`` and the like are HTML; all others are text, and escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from headrace.frozen import frozen
from headrace.page.machine import Machine
from headrace.page.wording import counted

__all__ = ["Lane", "bar", "entries", "figure", "header", "lanes", "machine_entries", "note", "section", "table"]


def header(eyebrow: str, headline: str, lead: str) -> str:
    """Returns what a page begins with."""
    told = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f'<header><p class="eyebrow">{escape(eyebrow)}</p><h1>{escape(headline)}</h1>{told}</header>'


def section(heading: str, body: str) -> str:
    """Returns a part of a page under a heading."""
    return f"<section>\n<h2>{escape(heading)}</h2>\n{body}\n</section>\n"


def note(text: str, kind: str = "note") -> str:
    """Returns a paragraph that explains what stands beside it."""
    return f'<p class="{kind}">{escape(text)}</p>'


def figure(svg: str, caption: str) -> str:
    """Returns a picture with what it shows in words, which a screen reader reads in its place."""
    told = escape(caption)
    return f'<figure role="img" aria-label="{told}"><div class="scroll">{svg}</div><figcaption>{told}</figcaption></figure>'


def table(headings: Sequence[str], rows: Iterable[str], attributes: str = "") -> str:
    """Returns a table, which scrolls by itself where the page is narrow."""
    heads = "".join(f"<th scope='col'>{escape(heading)}</th>" for heading in headings)
    opening = f"<table {attributes}>" if attributes else "<table>"
    return f'<div class="scroll">{opening}<thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def bar(time_s: float, longest_s: float, kind: str = "") -> str:
    """Returns a time as a bar beside its number, in a cell of a table."""
    width = f"{time_s / longest_s:.1%}" if longest_s > 0 else "0%"
    return f'<span class="bar{kind and f" {kind}"}"><i style="width:{width}"></i><span>{time_s * 1e3:,.0f} ms</span></span>'


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
        f'<span class="name">{escape(lane.name)}</span><span class="track" {lane.style}>'
        f'<span class="wait" style="width:{lane.wait_s / longest_s:.2%}"></span>'
        f'<span style="width:{lane.rest_s / longest_s:.2%}"></span></span>'
        f'<span class="whole">{escape(lane.told)}</span>'
        for lane in shown
    )
    return f'<div class="race">{body}</div>'


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
