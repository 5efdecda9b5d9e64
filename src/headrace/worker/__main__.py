"""``python -m headrace.worker DESCRIPTOR``: serves the process that started it until that one is gone."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import signal
import socket
import sys
import threading
from typing import Any, Final

from headrace.processes.connection import Connection
from headrace.processes.errors_sent import sent_error

__all__: list[str] = []

# How long what still runs may take to end.
_PATIENCE_S: Final = 1.5


def main() -> None:
    """Answers questions until there are none any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer, which ends this process
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # a person, or the trainer, may ask what it does
    connection = Connection(socket.socket(fileno=int(sys.argv[1])))
    os.set_inheritable(connection.fileno(), False)
    desk: Any = None
    sending = threading.Lock()

    def answer(number: int | None, value: Any, error: BaseException | None = None) -> None:
        told = (number, True, value) if error is None else (number, False, sent_error(error))
        body = pickle.dumps(told, pickle.HIGHEST_PROTOCOL)
        with sending, contextlib.suppress(OSError):  # the trainer is gone, which is heard below
            connection.send(body)

    while True:
        if desk is not None:
            desk.wait(connection)
        received = connection.receive()
        if received is None:
            break
        message, descriptors = received
        number = int.from_bytes(message[:8], "big")
        word, values = pickle.loads(memoryview(message)[8:])
        if word == "begin":
            path, folder, level = values
            sys.path[:] = path
            os.chdir(folder)
            from headrace.worker.desk import Desk  # when the path is as the trainer's

            desk = Desk(answer, level)
            answer(number, None)
        else:
            desk.hear(number, word, values, descriptors)
    # The trainer has ended, or needs this process no more: what runs is ended, and what does not end is left.
    threading.Thread(target=_leave, name="headrace-leave", daemon=True).start()
    if desk is not None:
        desk.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _leave() -> None:
    threading.Event().wait(_PATIENCE_S)
    os._exit(0)


if __name__ == "__main__":
    main()
