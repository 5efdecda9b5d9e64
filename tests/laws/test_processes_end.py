"""Law 5: a process ends while runs are open, and Ctrl-C ends a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 30.0

PROGRAM = """
import sys, threading
import headrace as hr

def slow_to_end():
    n = 0
    while True:
        yield n
        n += 1

numbers = hr.Dataset.from_generator(slow_to_end)
ds = (numbers.prefetch(3).map(lambda x: x + 1, num_parallel_calls=2)
      .interleave(lambda x: hr.Dataset.range(x % 5), cycle_length=2, num_parallel_calls=2).shuffle(3).prefetch(2))
"""


def run_program(body: str, *, first: str = "", interrupt: bool = False) -> tuple[int, str, str]:
    """The exit status, the output and the errors of a program that prints a line when it is under way, and does ``first`` before its imports."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(first) + PROGRAM + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )
    try:
        if interrupt:
            assert process.stdout is not None
            assert process.stdout.readline() == "under way\n"
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.wait()
    return process.returncode, output, errors


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("it = iter(ds)\nprint(next(it) >= 0)\n", id="held by the module"),
        pytest.param("it = iter(ds)\nprint(next(it) >= 0)\nsys.exit()\n", id="sys.exit"),
        pytest.param(
            """
            def work():
                global it
                it = iter(ds)
                print(next(it) >= 0)
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            """,
            id="begun in a thread",
        ),
        pytest.param(
            """
            its = [iter(ds) for _ in range(3)]
            print(all(next(it) >= 0 for it in its))
            cycle = [its]
            cycle.append(cycle)
            del its
            """,
            id="in a cycle",
        ),
    ],
)
def test_the_interpreter_exits_while_a_run_is_open(body: str) -> None:
    assert run_program(body) == (0, "True\n", "")


# A function that never returns from its fourth element, and an exit that waits for it only so long.
BLOCKING = """
    import headrace.engine.ending
    headrace.engine.ending._EXIT_PATIENCE_S = 0.05
    begun = threading.Event()
    def block(x):
        if x == 3:
            begun.set()
            threading.Event().wait()
        return x
"""


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param("numbers.map(block, num_parallel_calls=2)", id="in a worker"),
        pytest.param("numbers.map(block)", id="in a driver"),
        pytest.param("numbers.interleave(lambda x: hr.Dataset.range(9).map(block), num_parallel_calls=1)", id="inside"),
    ],
)
def test_a_function_that_never_returns_does_not_keep_the_interpreter_from_exiting(pipeline: str) -> None:
    body = f"""{BLOCKING}
    from tests.laws.running import AlwaysAhead, in_blocks_of
    it = in_blocks_of(None, {pipeline}.prefetch(9), overlap=AlwaysAhead)
    print(next(it) >= 0)
    assert begun.wait(20)
    """
    status, output, errors = run_program(body)
    assert (status, output) == (0, "True\n")
    assert "while functions still run in headrace-" in errors


# A feed to a device: a thread reads ahead for it.
FEED = """
    import weakref
    from headrace.feed.feeding import Feed
    class Device:
        takes_time = True
        def begin(self, element):
            return element
        def finish(self, begun):
            return begun
        def copies_s(self):
            return []
    def feed(dataset):
        return iter(Feed(dataset._plan, Device, 2))
"""


def test_the_interpreter_exits_while_a_feed_has_elements_ready() -> None:
    body = f"""{FEED}
    other = Device()
    weakref.finalize(other, int)  # so that Python ends what has a finalizer after headrace's own exit, and not before
    it = feed(numbers)
    print(next(it) >= 0)
    """
    assert run_program(body) == (0, "True\n", "")


def test_a_function_that_never_returns_to_a_feed_does_not_keep_the_interpreter_from_exiting() -> None:
    body = f"""{FEED}{BLOCKING}
    it = feed(numbers.map(block))
    print(next(it) >= 0)
    assert begun.wait(20)
    """
    status, output, errors = run_program(body)
    assert (status, output) == (0, "True\n")
    assert "while functions still run in headrace-feed" in errors


# A process that waits for what it need not wait for takes longer than a test.
PATIENT = """
    import headrace.engine.ending, headrace.exiting
    headrace.engine.ending._EXIT_PATIENCE_S = headrace.exiting._PATIENCE_S = 1000.0
"""
# The same where nothing runs, and the engine is not there to end it.
WITHOUT_ENGINE = """
    import headrace.exiting
    headrace.exiting._PATIENCE_S = 1000.0
"""
FILLING = """
    from headrace.coordination import Coordinator, LooperThread, QueueRunner
    from headrace.queues import FIFOQueue
    coord, queue = Coordinator(), FIFOQueue(capacity=2)
    def fill(runner_of, ops, **of):
        QueueRunner(runner_of, ops).create_threads(daemon=True, start=True, **of)
"""


@pytest.mark.parametrize("engine", [PATIENT, WITHOUT_ENGINE], ids=["with the engine", "without"])
@pytest.mark.parametrize(
    "threads",
    [
        pytest.param("LooperThread.loop(coord, None, target=lambda: None)", id="a looper"),
        pytest.param("LooperThread.loop(coord, 1000, target=lambda: None)", id="a looper that waits"),
        pytest.param("fill(queue, [lambda: queue.enqueue(1)] * 2)", id="a runner"),
        pytest.param("fill(queue, [lambda: queue.enqueue(1)] * 2, coord=coord)", id="a runner with a coordinator"),
        pytest.param("fill(queue, [lambda: None])", id="a runner that never waits"),
        pytest.param(
            "other = FIFOQueue(capacity=2)\n    fill(queue, [lambda: queue.enqueue(other.dequeue())])\n"
            "    fill(other, [lambda: other.enqueue(1)])",
            id="a runner that is filled by another",
        ),
        pytest.param(
            "other = FIFOQueue(capacity=2)\n    fill(queue, [lambda: queue.enqueue(other.dequeue())] * 2, coord=coord)",
            id="a runner that waits where nobody fills",
        ),
        pytest.param(
            "LooperThread.loop(coord, None, target=queue.dequeue)", id="a looper that waits where nobody fills"
        ),
        pytest.param("threading.Thread(target=queue.dequeue, daemon=True).start()", id="a thread of the user's"),
    ],
)
def test_the_interpreter_exits_while_threads_fill_queues(threads: str, engine: str) -> None:
    assert run_program(f"{engine}{FILLING}\n    {threads}\n    print(True)\n") == (0, "True\n", "")


def test_what_a_coordinator_stops_is_stopped_at_exit() -> None:
    body = f"""{PATIENT}{FILLING}
    coord.on_stop(lambda: print("stopped", flush=True))
    fill(queue, [lambda: queue.enqueue(1)], coord=coord)
    """
    assert run_program(body) == (0, "stopped\n", "")


# A function that atexit calls: it reads a whole run, in which workers make tuples, and leaves another open.
LATE = """
    import atexit
    def generate():
        try:
            yield from iter(int, 1)
        finally:
            print("ended", flush=True)
    def late():
        global it
        print(len(list(hr.Dataset.range(9).map(lambda x: (x, {"a": x}), 2).batch(2))))
        it = iter(hr.Dataset.from_generator(generate).map(lambda x: (x, x), 2).prefetch(2))
        print(len(next(it)))
"""


@pytest.mark.parametrize(
    "engine", ["import headrace.engine.ending\n    atexit.register(late)", "atexit.register(late)"]
)
def test_what_a_function_of_the_exit_opens_is_ended(engine: str) -> None:
    body = f"""{LATE}
    {engine}
    import headrace.engine.ending
    """
    assert run_program(body) == (0, "5\n2\nended\n", "")


def test_a_run_that_begins_when_libraries_have_ended_is_refused() -> None:
    first = """
    import atexit
    def late():
        try:
            print(len(list(pairs)))
        except hr.errors.FailedPreconditionError as error:
            print(error)
    atexit.register(late)
    """
    status, output, errors = run_program("pairs = hr.Dataset.range(9).map(lambda x: (x, x)).batch(2)", first=first)
    assert (status, errors) == (0, "")
    assert "registered after headrace was imported" in output


def test_a_thread_of_the_users_own_that_reads_for_ever_does_not_keep_the_interpreter_from_exiting() -> None:
    body = """
    begun = threading.Event()
    def block(x):
        begun.set()
        threading.Event().wait()
    it = iter(numbers.map(block))
    threading.Thread(target=lambda: next(it), daemon=True).start()
    assert begun.wait(20)
    """
    assert run_program(body) == (0, "", "")


def test_a_thread_of_the_users_own_that_waits_at_exit_sees_an_end_and_no_error() -> None:
    body = """
    from headrace.backends.thread import WorkerPool
    begun, go, stop = threading.Event(), threading.Event(), WorkerPool.stop
    WorkerPool.stop = lambda pool: (stop(pool), go.set())
    def block(x):
        begun.set()
        go.wait(20)
        return x
    it = iter(numbers.map(block, num_parallel_calls=2))
    threading.Thread(target=lambda: list(it), daemon=True).start()
    assert begun.wait(20)
    """
    assert run_program(body) == (0, "", "")


# An object that a C++ library takes apart with a function that needs a while: a thread of the user's that handles such objects
# is inside that library whenever anybody looks. Before Python 3.14 it would be ended there, and the process aborted.
TAKEN_APART_SLOWLY = """
    import optree
    inside = threading.Event()
    class Box: pass
    def take_apart(box):
        inside.set()
        sum(range(300_000))
        return (1,), None
    optree.register_pytree_node(Box, take_apart, lambda _, parts: Box(), namespace="headrace")
    boxes = numbers.map(lambda x: {"box": Box()})
"""


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param("list(boxes)", id="in stages"),
        pytest.param("list(boxes.with_options(hr.Options(executor='inline')))", id="in the reference"),
        pytest.param("list(boxes.batch(2))", id="in a batch"),
        pytest.param("list(boxes.map(lambda x: x, num_parallel_calls=2))", id="above workers"),
        pytest.param("[list(boxes.take(1)) for _ in iter(int, 1)]", id="in run after run"),
        pytest.param("[boxes.element_spec for _ in iter(int, 1)]", id="in a question"),
        pytest.param("[hr.Dataset.from_tensors(Box()) for _ in iter(int, 1)]", id="in the making of datasets"),
    ],
)
def test_threads_of_the_users_own_that_are_inside_a_library_at_exit_are_let_out_of_it(loop: str) -> None:
    body = f"""{TAKEN_APART_SLOWLY}
    for _ in range(2):
        threading.Thread(target=lambda: {loop}, daemon=True).start()
    assert inside.wait(20)
    """
    assert run_program(body) == (0, "", "")


def test_at_exit_a_generator_is_ended_so_that_its_finally_runs() -> None:
    body = """
    def generate():
        try:
            yield from range(9)
        finally:
            print("ended", flush=True)
    one, other = iter(hr.Dataset.from_generator(generate)), iter(hr.Dataset.from_generator(generate).prefetch(1))
    next(one), next(other)
    """
    assert run_program(body) == (0, "ended\nended\n", "")


def test_ctrl_c_in_a_loop_is_a_keyboard_interrupt_and_leaves_nothing() -> None:
    body = """
    try:
        for number, _ in enumerate(ds.repeat()):
            if number == 3:
                print("under way", flush=True)
    except KeyboardInterrupt:
        pass  # one that came at the first instruction of next() still holds the loop's iterator here
    print([t.name for t in threading.enumerate() if t.name.startswith("headrace")])
    """
    assert run_program(body, interrupt=True) == (0, "[]\n", "")


def test_ctrl_c_while_next_waits_is_a_keyboard_interrupt_and_leaves_nothing() -> None:
    body = """
    go = threading.Event()
    def wait(x):
        if x == 4:
            print("under way", flush=True)
            go.wait(30)
        return x
    blocked = numbers.map(wait, num_parallel_calls=2).batch(100)
    it = iter(blocked)
    try:
        threading.Thread(target=lambda: (threading.main_thread().join(0.0), None)).start()
        import signal
        def interrupt(signum, frame):
            go.set()  # a function that never returns could not be stopped by anyone
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, interrupt)
        next(it)
    except KeyboardInterrupt:
        print([t.name for t in threading.enumerate() if t.name.startswith("headrace")])
    """
    assert run_program(body, interrupt=True) == (0, "[]\n", "")
