"""Threads that fill a queue, and how they end.

    an enqueue op raises …               the thread …                              when it was the last …
    a queue-closed type (OutOfRange)     ends cleanly                              close_op (what is inside stays)
    anything else, with a coordinator    requests a stop with it                   the queue is closed
    anything else, without one           keeps it in exceptions_raised, raises it  raised where the queue is waited on
    nothing, but a stop was requested    ends                                      the queue is closed

The names, arguments and rules are those of TensorFlow's ``tf.compat.v1.train.QueueRunner``; an enqueue op is a callable.
Different from it: when a thread has failed without a coordinator, the last to end does not close the queue as if all
were well, because its consumers must not mistake a failure for the end; and the thread that closes the queue on
a stop ends with the others, so that ``join`` needs no stop where all has come to its end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from headrace import exiting
from headrace.coordination.coordinator import Coordinator
from headrace.coordination.latch import Latch
from headrace.coordination.left_at_exit import stopped_at_exit
from headrace.errors import InvalidArgumentError, OutOfRangeError
from headrace.log import LOG
from headrace.queues import QueueBase

__all__ = ["EnqueueOp", "QueueRunner"]

EnqueueOp: TypeAlias = Callable[[], object]


class QueueRunner:
    """Fills a queue from threads of its own, one for each enqueue op.

    Args:
        queue: the queue to fill.
        enqueue_ops: callables that make and enqueue something, each called again and again in a thread of its own;
            ``[op] * n`` for n threads.
        close_op: what closes the queue at the end; ``queue.close()`` when None.
        cancel_op: what closes the queue on a stop; ``queue.close(cancel_pending_enqueues=True)`` when None.
        queue_closed_exception_types: a tuple of errors that end a thread cleanly when its op raises them;
            ``(OutOfRangeError,)`` when None.

    Raises:
        InvalidArgumentError: there is no queue, or no enqueue op.
        TypeError: an enqueue op cannot be called, or ``queue_closed_exception_types`` is no tuple of error types.

    Example:
        >>> from headrace.coordination import Coordinator, QueueRunner
        >>> from headrace.queues import FIFOQueue
        >>> queue, numbers = FIFOQueue(capacity=5), FIFOQueue(capacity=3)
        >>> numbers.enqueue_many([1, 2, 3])
        >>> numbers.close()
        >>> runner = QueueRunner(queue, [lambda: queue.enqueue(numbers.dequeue() ** 2)])
        >>> coord = Coordinator()
        >>> threads = runner.create_threads(coord=coord, start=True)
        >>> coord.join(threads)
        >>> queue.dequeue_up_to(5)
        array([1, 4, 9])
    """

    def __init__(
        self,
        queue: QueueBase,
        enqueue_ops: Sequence[EnqueueOp],
        close_op: EnqueueOp | None = None,
        cancel_op: EnqueueOp | None = None,
        queue_closed_exception_types: tuple[type[BaseException], ...] | None = None,
    ) -> None:
        given: tuple[object, object] = (queue, enqueue_ops)  # whatever a caller without a type checker passes
        if not all(given):
            raise InvalidArgumentError("a QueueRunner needs a queue and at least one enqueue op")
        _check_callable(enqueue_ops)
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = close_op or queue.close
        self._cancel_op = cancel_op or (lambda: queue.close(cancel_pending_enqueues=True))
        self._queue_closed_exception_types = _error_types(queue_closed_exception_types)
        self._producer = queue.register_producer(f"QueueRunner of {queue.name!r}")
        self._lock = threading.Lock()
        self._outstanding = 0  # threads that were created and have not ended
        self._coord: Coordinator | None = None  # theirs
        self._is_left = False  # whether they are there while the interpreter ends
        self._exceptions_raised: list[BaseException] = []

    @property
    def name(self) -> str:
        """The name of its queue."""
        return self._queue.name

    @property
    def queue(self) -> QueueBase:
        """The queue it fills."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[EnqueueOp]:
        """What its threads call, one each."""
        return self._enqueue_ops

    @property
    def close_op(self) -> EnqueueOp:
        """What closes the queue at the end."""
        return self._close_op

    @property
    def cancel_op(self) -> EnqueueOp:
        """What closes the queue on a stop."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[BaseException], ...]:
        """Errors that end a thread cleanly."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """What threads without a coordinator have failed with, since they were last created."""
        return self._exceptions_raised

    def create_threads(
        self, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads: one for each enqueue op, and with a coordinator one that closes the queue on a stop.

        Args:
            coord: whom to stop with and to report failures to; the threads are registered with it.
            daemon: whether the interpreter may exit while they run.
            start: whether to start them, too.

        Returns:
            The threads; none while those made before have not all ended.
        """
        with self._lock:
            if self._outstanding:
                return []
            self._outstanding = len(self._enqueue_ops)
            self._exceptions_raised = []
            self._coord = coord
        stopped_at_exit(self)
        ended = Latch(f"the end of {self.name}")  # of all threads, or by a stop
        threads = [
            self._thread(str(number), daemon, self._run, op, coord, ended)
            for number, op in enumerate(self._enqueue_ops)
        ]
        if coord is not None:
            coord.on_stop(ended.set)
            threads.append(self._thread("close_on_stop", daemon, self._close_on_stop, coord, ended))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _thread(self, role: str, daemon: bool, target: Callable[..., object], *args: Any) -> threading.Thread:
        name = f"{exiting.QUEUE_RUNNER}{self.name}-{role}"
        return threading.Thread(target=target, args=args, name=name, daemon=daemon)

    def stop_at_exit(self) -> None:
        """Has its threads end, and all that its coordinator stops: for the interpreter's exit."""
        if not self._outstanding:
            return
        self._is_left = True
        if self._coord is not None:
            self._coord.request_stop()
        self._do(self._cancel_op)

    # ---- what the threads do

    def _run(self, enqueue_op: EnqueueOp, coord: Coordinator | None, ended: Latch) -> None:
        self._producer.started()
        try:
            self._enqueue_until_the_end(enqueue_op, coord)
        except BaseException as error:
            if self._is_left:  # its queue was closed under it
                return
            if coord is None:
                LOG.error("the QueueRunner of %r failed: %r", self.name, error)
                self._exceptions_raised.append(error)
                raise
            coord.request_stop(error)
        finally:
            self._one_has_ended(coord, ended)

    def _enqueue_until_the_end(self, enqueue_op: EnqueueOp, coord: Coordinator | None) -> None:
        try:
            while not self._is_left and (coord is None or not coord.should_stop()):
                enqueue_op()
        except self._queue_closed_exception_types as error:
            LOG.debug("a thread of the QueueRunner of %r has come to its end: %r", self.name, error)

    def _one_has_ended(self, coord: Coordinator | None, ended: Latch) -> None:
        with self._lock:
            self._outstanding -= 1
            last = not self._outstanding
        if not last:
            return
        failed = self._exceptions_raised[0] if self._exceptions_raised else None
        if coord is not None and coord.should_stop():
            # Closed before this runner counts as ended: its consumers see the end that a stop makes, also when
            # the thread that calls cancel_op has not come to it yet.
            self._queue.close(cancel_pending_enqueues=True)
        elif failed is None:
            self._do(self._close_op)
        self._producer.ended(failed)
        ended.set()

    def _close_on_stop(self, coord: Coordinator, ended: Latch) -> None:
        ended.wait()
        if coord.should_stop():
            self._do(self._cancel_op)

    def _do(self, operation: EnqueueOp) -> None:
        try:
            operation()
        except Exception as error:  # noqa: BLE001 - as in TensorFlow: most often the queue is closed already
            LOG.debug("closing the queue %r: %r", self.name, error)


def _check_callable(enqueue_ops: Sequence[object]) -> None:
    for op in enqueue_ops:
        if not callable(op):
            raise TypeError(f"an enqueue op is a callable, such as lambda: queue.enqueue(make()), not {op!r}")


def _error_types(types: Any) -> tuple[type[BaseException], ...]:
    if types is None:
        return (OutOfRangeError,)
    is_error = [isinstance(kind, type) and issubclass(kind, BaseException) for kind in types]
    if not isinstance(types, tuple) or not is_error or not all(is_error):
        raise TypeError(f"queue_closed_exception_types must be a tuple of error types, not {types!r}")
    return types
