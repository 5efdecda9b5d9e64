"""The program of a process of headrace's own: it serves the process that started it until that one is gone.

Its arguments are the descriptors of its socket and of its lifeline, and the folders of the trainer's ``sys.path``.
"""

from __future__ import annotations

import faulthandler
import functools
import io
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headrace.observe.onlookers import ONLOOKERS
from headrace.processes.by_value import have_classes_found
from headrace.processes.connection import Connection
from headrace.processes.errors_sent import sent_error
from headrace.processes.lifeline import Lifeline
from headrace.processes.outbox import Outbox
from headrace.processes.parcels import to_bytes
from headrace.worker.leaving import leave

if TYPE_CHECKING:
    from headrace.processes.setting import Changes
    from headrace.worker.desk import Desk

__all__: list[str] = []

# How long what still runs may take to end.
_PATIENCE_S: Final = 1.5
_LONGEST_S: Final = 1.8  # where nothing in Python goes on any more


def main() -> None:
    """Answers questions until there are none any more, and leaves."""
    _prepare()
    talk, life = map(int, sys.argv[1].split(","))
    lifeline = Lifeline(life)
    connection = Connection.received(talk)
    os.set_inheritable(connection.fileno(), False)
    desk = _served(connection)
    # The trainer has ended, or needs this process no more: what runs is ended, and what does not end is left.
    lifeline.let_go(_LONGEST_S)
    threading.Thread(target=_leave, name="headrace-leave", daemon=True).start()
    if desk is not None:
        desk.close()
    leave()


def _served(connection: Connection) -> Desk | None:
    """Answers questions until there are none any more; returns what holds the runs, if one was ever asked for."""
    answer = functools.partial(_answer, Outbox(connection))
    desk: Desk | None = None
    while True:
        if desk is not None:
            desk.wait(connection)
        received = connection.receive()
        if received is None:
            return desk
        message, descriptors = received
        number = int.from_bytes(message[:8], "big")
        word, values = pickle.loads(memoryview(message)[8:])
        if desk is None:
            assert word == "begin"  # which is told first
            desk = _desk(answer, *values)
            answer(number, None)
        else:
            desk.hear(number, word, values, descriptors)


def _answer(outbox: Outbox, number: int, value: Any, error: BaseException | None = None) -> None:
    """Sends the answer to a question, or the error instead."""
    try:
        body = to_bytes((True, value) if error is None else (False, sent_error(error)))
    except Exception as refused:  # noqa: BLE001 - a state may have anything in it, whose class may raise anything
        body = to_bytes((False, sent_error(refused)))
    outbox.put(number, body)


def _desk(answer: Callable[..., None], setting: Changes, arguments: list[str]) -> Desk:
    """Has this process find modules and files as the trainer does, and returns what hears its questions."""
    sys.argv = arguments
    setting.make()
    from headrace.worker.desk import Desk  # when the path is as the trainer's

    return Desk(answer)


def _prepare() -> None:
    """Has signals and output go as in a program that serves another."""
    have_classes_found(sys.modules["__main__"])
    ONLOOKERS.come_by(None)  # the trainer shows what runs here
    # Ctrl-C is for the trainer, which ends this process. Ignored, it would be ignored by what a function starts, too.
    signal.signal(signal.SIGINT, lambda *_: None)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # This process may be killed, so lines are not kept. Nor are they written in parts, as under PYTHONUNBUFFERED,
            # where lines of several processes would run into one another.
            stream.reconfigure(line_buffering=True, write_through=False)
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # a person, or the trainer, may ask what it does


def _leave() -> None:
    threading.Event().wait(_PATIENCE_S)
    os._exit(0)


if __name__ == "__main__":
    main()
