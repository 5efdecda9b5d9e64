"""One process for the plans of many examples, as a fresh interpreter for each would take the tests an hour."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from headrace.backends.subprocess import plan_process
from headrace.processes.host import Host

__all__ = ["Hosts", "one_process_for_plans"]


class Hosts:
    """The process that all plans get; another one where it has ended, as one does that nobody needs for a while."""

    def __init__(self) -> None:
        self.now: Host | None = None

    def host(self) -> Host:
        if self.now is None or not self.now.is_alive:
            self.now = Host()
        return self.now

    def end(self) -> None:
        if self.now is not None:
            self.now.end()


@contextlib.contextmanager
def one_process_for_plans(hosts: Hosts) -> Iterator[None]:
    """Has every plan that begins meanwhile run in that process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_process, "_new_host", hosts.host)
        yield
