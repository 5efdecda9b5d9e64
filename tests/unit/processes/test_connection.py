"""Messages between processes: whole, in their order, and with all that belongs to them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import Any, cast

import pytest

import headrace as hr
from headrace.processes.connection import Connection
from headrace.processes.outbox import Outbox


def test_descriptors_that_the_system_dropped_are_an_error_and_no_other_memory_is_taken_for_theirs() -> None:
    mine, its = socket.socketpair()
    with its:
        connection = Connection(mine)
        its.sendall(struct.pack("!QI", 3, 1) + b"abc")  # says one, and brings none
        with pytest.raises(hr.errors.ResourceExhaustedError, match="no descriptors left"):
            connection.receive()
        connection.close()


class Recursive:
    """A connection that is asked to send another message while it sends the first one."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.outbox = Outbox(cast("Connection", self))
        self._is_first = True

    def send(self, message: bytes, descriptors: Sequence[int]) -> None:
        if self._is_first:
            self._is_first = False
            self.outbox.put(2, b"from a garbage collection")
        self.sent.append(message[8:])


def test_who_sends_something_in_the_middle_of_sending_waits_for_nobody() -> None:
    connection = Recursive()
    connection.outbox.put(1, b"first")
    assert connection.sent == [b"first", b"from a garbage collection"]


def answered(word: str, host: Any) -> Any:
    return host.ask(word)


def test_a_question_that_a_process_does_not_know_is_an_error_and_the_next_one_is_answered() -> None:
    from headrace.processes.host import Host

    host = Host()
    try:
        with pytest.raises(AttributeError):
            answered("nonsense", host)
        assert answered("held", host) == ()
    finally:
        host.end()


def test_a_process_that_the_system_does_not_start_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.processes.host import Host

    def refuses(*args: object, **keywords: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refuses)
    with pytest.raises(hr.errors.ResourceExhaustedError, match="starts no process beside the trainer: Resource"):
        Host()
