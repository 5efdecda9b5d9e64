"""What holds for every test: it ends, and it leaves nothing behind (docs/design.md, law 5).

Three guards, each on by itself:

- A hang becomes a failure. ``faulthandler_timeout`` in pyproject.toml prints every thread's stack and ends the process;
  it works where no Python code can run any more. The two hooks below close the gaps that pytest leaves in it.
- A test that passes leaves no thread of headrace, no child process and no shared memory (``nothing_is_left_behind``).
- Generated tests do the same in every run of the ``ci`` profile; ``HYPOTHESIS_PROFILE=thorough`` looks for new examples, and
  makes the one that fails as small as it can; ``brief`` is for a second run of the same tests beside other packages, and has
  of each test that knows none of those packages one of its cases.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests.cases.brief import left_out_of_a_brief_run
from tests.cases.held import held, join_threads

from headrace.observe.iterators import ITERATORS
from headrace.processes import spare

# A deadline for one example, and a slow start of the generator, judge the machine's load and not the code.
_ANY_LOAD = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
# Who can be looked at has a thread and a socket a second after its first run. The tests of that turn it on.
os.environ["HEADRACE_LIVE"] = "0"
# The process of a plan waits for its next epoch as long as the plan is there, which a test may keep; it is not to wait for long.
spare._STAYS_S = 1.0  # type: ignore[misc]  # final to all others
# What tests start prints whole lines, which others write between and not into.
os.environ.pop("PYTHONUNBUFFERED", None)
# NumPy's library for matrices has as many threads as there are cores, which in each of the thousands of processes that tests start
# wait for work by asking without end: a third of what such a process takes.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Who runs the tests in the background of a shell lets them ignore Ctrl-C, and all that they start with them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomised: a red run is the fault of the change that made it red, never of the dice. And not made smaller, which may take
# longer than the guard against hangs lets a test run: a failure would be told of as one, without its error.
_AS_FOUND = settings(_ANY_LOAD, derandomize=True, phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.target])
settings.register_profile("ci", _AS_FOUND, max_examples=32)
settings.register_profile("brief", _AS_FOUND, max_examples=8)
settings.register_profile("thorough", _ANY_LOAD, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Teardown after a failure, and the interpreter's exit after the last test: seconds at most, and 60 on a loaded machine.
ENDING_LIMIT_S = 60.0
# How long a thread that was told to stop may take to get there.
GRACE_S = 30.0

_FAILED = pytest.StashKey[bool]()
_STDERR = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuses names with addresses: two processes that share the tests would each have others. Leaves out what is not for a brief run."""
    named = [item.nodeid for item in items if " at 0x" in item.nodeid]
    assert not named, f"give ids= to the cases of {named[0]}"
    if os.environ.get("HYPOTHESIS_PROFILE") == "brief":
        left_out = left_out_of_a_brief_run(items)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Returns how many processes share the tests: one more than cores, as many a test waits for a process that it has started."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    # During a test, pytest's capture holds descriptor 2: the stacks of a hang would be lost with it.
    config.stash[_STDERR] = os.dup(2)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    # What is there now, all tests and all libraries, stays to the end: a test that collects garbage for each of its examples
    # need not go through it every time.
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    # pytest disarms its guard when a test fails, for the sake of debuggers; the teardown that follows can hang as well.
    node.stash[_FAILED] = True
    if isinstance(node, pytest.Item) and not node.config.getoption("usepdb"):
        faulthandler.dump_traceback_later(ENDING_LIMIT_S, file=node.config.stash[_STDERR], exit=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    # A thread that nobody stopped keeps the interpreter from exiting, after every test has passed. (A worker of
    # pytest-xdist idles here until the others have ended; its parent ends it.)
    if not hasattr(session.config, "workerinput"):
        faulthandler.dump_traceback_later(ENDING_LIMIT_S, file=session.config.stash[_STDERR], exit=True)


@pytest.fixture(autouse=True, scope="module")
def what_others_have_imported_stays() -> None:
    """Has a collection not go through what the tests before these have imported and kept, as torch and TensorFlow, over and over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a test before left open: that is no fault of this one
        gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nobody_goes_on_counting() -> Iterator[None]:
    """Ends what a test began that asked for metrics: they are counted until the process ends."""
    yield
    ITERATORS.told = None


@pytest.fixture(autouse=True)
def functions_call_as_deep_as_ever() -> Iterator[None]:
    """Ends the room that a deep plan has made: what another test lets recurse without end would leave the stack before Python said so."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that passed but left a thread, a child process or shared memory behind."""
    before = held()
    yield
    # A test that failed is kept by pytest with its frames, and so with what it had open: one report is enough.
    if request.node.stash.get(_FAILED, False) or not held() - before:
        return
    gc.collect()  # an iterator in a reference cycle, such as a caught exception's, is closed by its collection
    spare.end_idle()  # they would wait for a next epoch
    join_threads(GRACE_S)
    left = held() - before
    assert not left, f"the test left behind: {', '.join(sorted(left))}"
