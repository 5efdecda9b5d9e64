"""How the rows of one work stand to each other: the ratios that every table and chart shows.

House rules. Like is compared with like: headrace's element-by-element program with the best peer's, and whatever
headrace does best with whatever any peer does best, batched by hand or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contest import Program, Work
from rounds import NOT_INSTALLED, Row

OURS = "headrace"


@dataclass(frozen=True, slots=True)
class Lead:
    """headrace's best row beside the best peer's."""

    ours: Row
    peer: Row

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer."""
        return (self.ours.rate or 0.0) / (self.peer.rate or float("inf"))


@dataclass(frozen=True, slots=True)
class Standing:
    """The rows of one work, fastest first, failures last."""

    work: Work[Any]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, work: Work[Any], rows: Sequence[Row]) -> Standing:
        """The rows in order."""
        return cls(work, tuple(sorted(rows, key=lambda row: -(row.rate or 0.0))))

    @property
    def limit(self) -> Row | None:
        """The fastest bare kernel."""
        return next((row for row in self.rows if row.is_limit and row.rate), None)

    def best(self, *, ours: bool, programs: Sequence[Program]) -> Row | None:
        """The fastest row of ours, or of a peer, among some programs."""
        for row in self.rows:
            if row.rate and row.candidate.program in programs and (row.candidate.library == OURS) is ours:
                return row
        return None

    @property
    def ours(self) -> Row | None:
        """headrace's fastest row."""
        return self.best(ours=True, programs=[Program.ELEMENTS, Program.BATCHES])

    @property
    def lead_by_elements(self) -> Lead | None:
        """Against the best peer that batches for its user."""
        return self._lead([Program.ELEMENTS])

    @property
    def lead(self) -> Lead | None:
        """Against the best peer, however its program is written."""
        return self._lead([Program.ELEMENTS, Program.BATCHES])

    def _lead(self, programs: Sequence[Program]) -> Lead | None:
        ours, peer = self.best(ours=True, programs=programs), self.best(ours=False, programs=programs)
        return Lead(ours, peer) if ours and peer else None

    def share_of_limit(self, row: Row) -> float | None:
        """The row's rate as a part of the limit's."""
        limit = self.limit
        return row.rate / limit.rate if row.rate and limit and limit.rate else None

    def times_slower(self, row: Row) -> float | None:
        """How many times as fast headrace is as this row."""
        ours = self.ours
        if row.is_limit or ours is None or not ours.rate or not row.rate or row.candidate.library == OURS:
            return None
        return ours.rate / row.rate

    def headline(self) -> list[str]:
        """What the figures say, a sentence each."""
        said = []
        ours, by_elements, lead = self.ours, self.lead_by_elements, self.lead
        if ours is not None and (share := self.share_of_limit(ours)) is not None:
            said.append(f"headrace reaches {share:.2f} of the limit.")
        if by_elements is not None:
            said.append(f"Element by element, it is {by_elements.ratio:.1f} × the best peer ({by_elements.peer.name}).")
        if lead is not None and lead.peer.candidate.program is Program.BATCHES:
            said.append(f"Against peers batched by hand, it is {lead.ratio:.1f} × the best ({lead.peer.name}).")
        return said

    def failures(self) -> list[str]:
        """Why candidates that are installed have no figure, a line each."""
        return [f"{row.name}: {row.failure}" for row in self.rows if row.failure not in (None, NOT_INSTALLED)]
