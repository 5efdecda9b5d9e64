"""A process beside this one: how it is started, asked, heard when it dies, and ended.

What always holds:
- It is a fresh interpreter and no copy of this one: no lock, thread or handle of the trainer's is in it, and nobody's ``__main__`` runs there.
- Its end is heard at once, by a thread that waits for that and for its answers; whoever waits for an answer then gets an error.
- It ends when this process ends, in whatever way: the pair of sockets between the two is closed then.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from headrace import exiting
from headrace.coordination.latch import Latch
from headrace.errors import (
    FailedPreconditionError,
    HeadraceError,
    InternalError,
    ResourceExhaustedError,
    no_more_threads,
)
from headrace.log import SAID_ONCE, is_news
from headrace.processes.connection import Connection, socket_pair
from headrace.processes.errors_sent import received_error, sent_error
from headrace.processes.orders import NOT_NEEDED
from headrace.processes.outbox import LOGGED, Outbox
from headrace.processes.setting import Setting
from headrace.processes.snapshot import all_of

__all__ = ["FORKED", "Answer", "Gone", "Host"]

FORKED: Final = "this process is a copy, made by fork, of the one whose pipeline this is: make an iterator of its own"

# How long a process may take to end by itself before it is killed.
_PATIENCE_S: Final = 5.0
_PROGRAM: Final = "import sys; sys.path[:] = sys.argv[2:]; from headrace.worker.__main__ import main; main()"
# Python hashes texts otherwise in each process, and one element's must not depend on which process made it.
_HASHING: Final = {"PYTHONHASHSEED": str(int.from_bytes(os.urandom(4), "big"))}


class Gone(HeadraceError, RuntimeError):  # noqa: N818 - it is news, which its hearers act on
    """The process has ended before it answered."""


class Answer:
    """What a process says to one question: what came is made again by who wants it, and what nobody wants never is."""

    def __init__(self) -> None:
        self.is_there = Latch("an answer of the process beside this one")
        self._came: tuple[memoryview, str] | None = None
        self._value: Any = None
        self._error: BaseException | None = None

    def hear(self, said: memoryview, process: str) -> None:
        """Gives what a process said to all who wait."""
        self._came = said, process
        self.is_there.set()

    def fail(self, error: BaseException) -> None:
        """Gives all who wait an error instead."""
        self._error = error
        self.is_there.set()

    def wait(self, patience_s: float | None = None) -> Any:
        """Returns it when it has come.

        Raises:
            Gone: the process ended before, or does not answer in time.
            BaseException: what was raised there.
        """
        if not self.is_there.wait(patience_s):
            raise Gone("the process beside the trainer does not answer")
        if (came := self._came) is not None:
            self._value, self._error = _made_again(*came)
            self._came = None
        if self._error is not None:
            raise self._error
        return self._value


def _made_again(said: memoryview, process: str) -> tuple[Any, BaseException | None]:
    """Returns what was said, or the error that was."""
    try:
        succeeded, value = pickle.loads(said)
    except Exception as error:  # noqa: BLE001 - classes of the user's may raise anything
        succeeded, value = False, sent_error(error)
    return (value, None) if succeeded else (None, received_error(value, process))


class _Line:
    """What leads to the process, and the thread that listens to it: it knows no host, so that one that is dropped ends."""

    def __init__(self, connection: Connection, lifeline: Connection, process: subprocess.Popen[bytes]) -> None:
        self.connection: Final = connection
        self.lifeline: Final = lifeline  # which is closed where this process is gone
        self.process: Final = process
        self.owner: Final = os.getpid()
        self.answers: Final[dict[int, Answer]] = {}
        self.outbox: Final = Outbox(connection)
        self.ended: Final = Latch("the end of the process beside this one")
        self.watched: Final[weakref.WeakSet[Connection]] = weakref.WeakSet()
        self.when_ended: Final[list[Callable[[], None]]] = []
        self.listener: Final = threading.Thread(target=self._listen, name="headrace-beside", daemon=True)

    def _listen(self) -> None:
        try:
            with _waiting(self.process.pid, self.connection) as has_message:
                while has_message():
                    received = self.connection.receive()
                    if received is None:
                        break
                    self._hear(received[0])
        finally:
            self._see_it_end()

    def _hear(self, message: bytearray) -> None:
        number, said = int.from_bytes(message[:8], "big"), memoryview(message)[8:]
        if number == LOGGED:
            with contextlib.suppress(Exception):  # handlers of the user's log may raise anything
                _log(pickle.loads(said)[1])
        elif (answer := self.answers.pop(number, None)) is not None:
            answer.hear(said, f"process {self.process.pid}")

    def _see_it_end(self) -> None:
        """Waits for its end, and tells all who wait for it."""
        try:
            self.process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.ended.set()
        self.lifeline.close()
        self.connection.shut()  # what it started may have the other end, and nobody reads that
        for connection in all_of(self.watched):
            connection.shut()
        self.drop_questions()
        for told in list(self.when_ended):
            told()
        self.outbox.close(_PATIENCE_S)  # a dataset may keep this for as long as the program runs

    def drop_questions(self) -> None:
        """Answers every question with the end of the process."""
        for number in list(self.answers):
            answer = self.answers.pop(number, None)
            if answer is not None:
                answer.fail(Gone(f"the process beside the trainer {self.how_it_ended()}"))

    def how_it_ended(self) -> str:
        code = self.process.returncode
        if code is None:
            return "was lost"
        if code >= 0:
            return f"ended with exit status {code}"
        known = [one.name for one in signal.Signals if one == -code]
        name = known[0] if known else f"signal {-code}"
        return f"was killed by {name}" + (", as when the system has no memory left" if name == "SIGKILL" else "")


class Host:
    """A process of headrace's own.

    Args:
        variables: what its environment has beside that of this process.

    Attributes:
        setting: that of this program, as the process was told it last.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._numbers = itertools.count()
        ends: tuple[socket.socket, ...] = ()
        try:
            mine, its = ends = socket_pair()
            life, its_life = socket_pair()
            ends += life, its_life
            process = _started([its.fileno(), its_life.fileno()], variables or {})
            its.close()
            its_life.close()
        except OSError as error:
            for end in ends:
                end.close()
            raise ResourceExhaustedError(
                f"the system starts no process beside the trainer: {error.strerror}; have fewer at once, or run in threads"
            ) from error
        self._line = _Line(Connection(mine), Connection(life), process)
        self._finalizer = weakref.finalize(self, _let_go, self._line)
        self._finalizer.atexit = False  # nobody reads a run any more then, or it would go on in another process
        _lines.add(self._line)
        try:
            self._line.listener.start()
        except RuntimeError as error:
            self._end_unheard()
            raise no_more_threads("listens to a process beside the trainer", error) from error
        self.setting = now = Setting.now()
        self.tell("begin", now.from_the_start(), sys.argv)

    def _end_unheard(self) -> None:
        """Ends the process that nobody listens to."""
        line = self._line
        line.process.kill()
        line.process.wait()
        line.ended.set()
        line.lifeline.close()
        line.connection.close()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._line.process.pid

    @property
    def owner(self) -> int:
        """The id of the process that started it."""
        return self._line.owner

    @property
    def is_alive(self) -> bool:
        """Whether it is there and of this very process."""
        return not self._line.ended.is_set and self._line.owner == os.getpid()

    def how_it_ended(self) -> str:
        """Says how it ended."""
        self._line.ended.wait(_PATIENCE_S)
        return self._line.how_it_ended()

    @property
    def ended_by_itself(self) -> bool:
        """Whether it ended because nobody needed it any more."""
        self._line.ended.wait(_PATIENCE_S)
        return self._line.process.returncode == NOT_NEEDED

    def tell(self, word: str, *values: Any, descriptors: Iterable[int] = ()) -> Answer:
        """Sends a message, and returns the answer that will come.

        Raises:
            FailedPreconditionError: this process is a fork of the one that started it.
            ResourceExhaustedError: this process may have no more descriptors.
        """
        line = self._line
        if line.owner != os.getpid():
            raise FailedPreconditionError(FORKED)
        answer = Answer()
        body = pickle.dumps((word, values), pickle.HIGHEST_PROTOCOL)
        number = next(self._numbers)
        line.answers[number] = answer
        try:
            line.outbox.put(number, body, descriptors)
        except HeadraceError:
            line.answers.pop(number, None)
            raise
        if line.ended.is_set:  # perhaps before the question stood among the others
            line.drop_questions()
        return answer

    def ask(self, word: str, *values: Any, descriptors: Iterable[int] = (), patience_s: float | None = None) -> Any:
        """Sends a message, and returns its answer when that has come; raises as an answer does."""
        return self.tell(word, *values, descriptors=descriptors).wait(patience_s)

    def refuse_handlers(self) -> None:
        """Refuses a handler of signals that came in the middle of a message: what it asks is not sent before it ends, so it would wait for ever.

        Raises:
            FailedPreconditionError: this is one.
        """
        if self._line.outbox.is_sending_here:
            raise FailedPreconditionError(
                "a handler of signals came while the process beside this one was told something, and cannot ask it now: let the handler note "
                "the signal, and take the state in the loop"
            )

    def catch_up(self) -> bool:
        """Has the process find modules, files and variables as this program does now, from the next message on.

        Returns whether it can: one that may have imported a module that was loaded anew here cannot.
        """
        before, now = self.setting, Setting.now()
        if now.reloads == before.reloads and now != before:
            self.setting = now
            self.tell("change", now.changes_since(before))
        return now.reloads == before.reloads

    def watch(self, connection: Connection) -> None:
        """Ends every wait on a connection when the process ends, though a process that it started may still hold its other end."""
        self._line.watched.add(connection)
        if self._line.ended.is_set:
            connection.shut()

    def when_ended(self, told: Callable[[], None]) -> None:
        """Has a function called when the process has ended, in any thread, at once if it has."""
        self._line.when_ended.append(told)
        if self._line.ended.is_set:
            told()

    def end(self) -> None:
        """Ends the process, and waits for that; may be called again."""
        line = self._line
        if line.owner == os.getpid():
            line.connection.shut()  # at which it ends
            if threading.current_thread() is not line.listener:
                line.listener.join()

    def end_by(self, signum: int, patience_s: float) -> None:
        """Ends it by a signal, and kills it where it does not end in time."""
        if self.is_alive:
            self._line.process.send_signal(signum)
            if not self._line.ended.wait(patience_s):
                self.kill()
                self._line.ended.wait(_PATIENCE_S)

    def kill(self) -> None:
        """Kills it."""
        if self.is_alive:
            self._line.process.kill()


@contextlib.contextmanager
def _waiting(pid: int, connection: Connection) -> Any:
    """Gives a function that waits for a message of the process, and returns False when it has ended without one.

    The connection alone does not tell: a process that the user's function started may have its other end.
    """
    open_process: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if open_process is None:
        yield lambda: True
        return
    try:
        process = open_process(pid)
    except OSError:  # a system that refuses it
        yield lambda: True
        return
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.register(connection.fileno(), select.POLLIN)
    try:
        yield lambda: any(descriptor != process for descriptor, _ in poll.poll())
    finally:
        os.close(process)


def _started(descriptors: Sequence[int], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise InternalError("Python does not know its own program (sys.executable), so no process can be started")
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does
    # Its path is given in words: PYTHONPATH would also reach what a function starts, and is not read with python -I or -E.
    return subprocess.Popen(
        [sys.executable, *flags, "-P", "-c", _PROGRAM, ",".join(map(str, descriptors)), *sys.path],
        stdin=subprocess.DEVNULL,
        stdout=_output(1),
        stderr=_output(2),
        pass_fds=descriptors,
        env={**_HASHING, **os.environ, **variables},
    )


def _output(descriptor: int) -> int | None:
    """Returns where a process writes: as this one does, or nowhere where this one has closed that, and may have something else in its place."""
    with contextlib.suppress(OSError):
        if os.get_inheritable(descriptor):
            return None
    return subprocess.DEVNULL


def _let_go(line: _Line) -> None:
    """Ends the process of a host that nobody holds any more; its listener sees to the rest."""
    if line.owner == os.getpid():
        line.connection.shut()
    else:
        line.process.returncode = 0  # of the process that was forked; nobody waits for it here


# What leads to the processes that are there.
_lines: Final[weakref.WeakSet[_Line]] = weakref.WeakSet()


@exiting.stops_at_exit
def _let_all_go() -> None:
    for line in all_of(_lines):
        _let_go(line)


def _log(record: Mapping[str, Any]) -> None:
    import logging

    if SAID_ONCE in record and not is_news(record[SAID_ONCE]):  # by another process, or by one before it
        return
    logger = logging.getLogger(record["name"])
    if logger.isEnabledFor(record["levelno"]):
        logger.handle(logging.makeLogRecord(dict(record)))
