"""Programs of all kinds run the same in processes: what is theirs is known there, and what is the system's is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0

PROGRAM = """
import dataclasses, enum, os, sys
import numpy as np
import headrace as hr

EXECUTOR = hr.Options(executor=sys.argv[1])

@dataclasses.dataclass
class Point:
    x: int
    a: object

class Color(enum.Enum):
    RED = 0
    BLUE = 1

def points():
    for x in range(4):
        yield Point(x, np.full(2000, x))

def main(x):  # as a function of the process's own program is called
    return x
"""


def printed(body: str, executor: str, *flags: str, folder: Path | None = None) -> str:
    """Runs a program in an interpreter of its own, and returns what it printed."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    ran = subprocess.run(
        [sys.executable, *flags, "-c", PROGRAM + textwrap.dedent(body), executor],
        capture_output=True,
        check=False,
        text=True,
        timeout=LIMIT_S,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


BODIES = {
    "elements of classes of the program": """
        def moved(point):
            assert isinstance(point, Point)
            return Point(point.x + 1, point.a + 1), Color(point.x % 2)
        for point, color in hr.Dataset.from_generator(points).map(moved, num_parallel_calls=2).with_options(EXECUTOR):
            print(type(point) is Point, point.x, point.a[0], color is Color.BLUE)
        """,
    "elements of classes of the program that have slots": """
        class Slotted:
            __slots__ = ("a", "unset", "__weakref__")
            def __init__(self, a):
                self.a = a
        class Below(Slotted):
            __slots__ = "b"
        @dataclasses.dataclass(slots=True, frozen=True)
        class Record:
            x: int
            a: object
        def moved(x):
            below = Below(x)
            below.b = 2
            return Record(x, Slotted(x)), below
        def seen(record, below):
            return record, below, hasattr(below, "__dict__"), hasattr(record.a, "__dict__")
        dataset = hr.Dataset.range(3).map(moved, num_parallel_calls=1).map(seen, num_parallel_calls=1)
        for record, below, *others in dataset.with_options(EXECUTOR):
            print(type(record) is Record, type(record.a) is Slotted, record.x, record.a.a, below.a, below.b, others)
        """,
    "named tuples of the program, written as classes": """
        import typing
        T = typing.TypeVar("T")
        class Pair(typing.NamedTuple):
            x: int
            y: int = 3
            def total(self):
                return self.x + self.y
        class Below(Pair):
            __slots__ = ()
            def total(self):
                return super().total() + 1
        class One(typing.NamedTuple, typing.Generic[T]):
            x: T
        def made(x):
            return Pair(int(x)), Below(int(x)), One(int(x))
        def seen(*all_three):
            return *all_three, *(one._asdict() for one in all_three)
        for pair, below, one, *others in hr.Dataset.range(3).map(made, num_parallel_calls=1).map(seen).with_options(EXECUTOR):
            print(type(pair) is Pair, pair.total(), type(below) is Below, below.total(), type(one) is One, one, others)
        """,
    "records of the program whose making wants what is no field": """
        @dataclasses.dataclass
        class Made:
            x: int
            def __new__(cls, x, *, allowed=False):
                assert allowed or x < 100
                return super().__new__(cls)
            def __post_init__(self):
                self.x += 1
        HELD = Made(10)
        def made(x):
            return Made(int(x)), HELD
        def again(*both):
            return both
        dataset = hr.Dataset.range(4).map(made, num_parallel_calls=1)
        for one in (dataset, dataset.map(again), dataset.map(again, num_parallel_calls=1), dataset.cache(), hr.Dataset.range(4).map(made)):
            print(list(one.with_options(EXECUTOR)), list(one.repeat(2).skip(1).with_options(EXECUTOR)))
        """,
    "named tuples of the program that change what they are given": """
        import typing
        class Next(typing.NamedTuple("Next", [("x", int), ("y", object)])):
            __slots__ = ()
            def __new__(cls, x, y=None):
                return super().__new__(cls, x + 1, np.full(2000, x) if y is None else y)
        class Below(Next):
            __slots__ = ()
        class Told(Next):
            __slots__ = ()
            def __getnewargs__(self):
                return self.x - 1, self.y
        HELD = Below(10)
        def made(x):
            return Next(int(x)), {"a": Told(int(x)), "b": (Below(int(x)), HELD)}
        def shown(one):
            return type(one).__name__, str(one.x), str(one.y[..., 0])
        def show(dataset):
            print([(shown(one), *map(shown, (more["a"], *more["b"]))) for one, more in dataset.with_options(EXECUTOR)])
        def again(one, more):
            return one, more
        dataset = hr.Dataset.range(4).map(made, num_parallel_calls=1)
        for one in (dataset, dataset.map(again), dataset.map(again, num_parallel_calls=1).cache(), dataset.batch(2), hr.Dataset.range(4).map(made)):
            show(one)
            show(one.repeat(2).skip(1))
        def generated():
            yield HELD
        print([shown(one) for one in hr.Dataset.from_generator(generated).map(lambda one: HELD).with_options(EXECUTOR)])
        print(hr.Dataset.range(4).scan(HELD, lambda state, x: (Below(state.x), state.x)).with_options(EXECUTOR).reduce(0, lambda total, x: total + x))
        """,
    "enums of the program that have more than values": """
        class Planet(enum.Enum):
            EARTH = 5.97, 6.37
            TERRA = 5.97, 6.37
            def __init__(self, mass, radius):
                self.mass = mass
        class Way(enum.Enum):
            UP = 1, "up"
            def __new__(cls, value, label):
                made = object.__new__(cls)
                made._value_, made.label = value, label
                return made
        class Right(enum.Flag):
            READ = 1
            WRITE = 2
            BOTH = 3
        def seen(x):
            way = Way(1)
            return Planet.TERRA, Planet["TERRA"].mass, list(Planet.__members__), way, way.label, Right["BOTH"], Right.READ | Right.WRITE
        for found in hr.Dataset.range(2).map(seen, num_parallel_calls=1).with_options(EXECUTOR):
            print(found, found[0] is Planet.EARTH, found[3] is Way.UP, found[5] is Right.BOTH)
        """,
    "what functools makes of functions of the program": """
        import functools
        @functools.lru_cache(maxsize=None)
        def fibonacci(n):
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
        @functools.singledispatch
        def kind(x):
            return "other"
        @kind.register
        def _(x: int):
            return "int"
        class Kept:
            @functools.cached_property
            def half(self):
                return 0.5
            @functools.lru_cache
            def plus(self, x):
                return x + 1
            @classmethod
            @functools.cache
            def name(cls):
                return cls.__name__
        def seen(x):
            kept = Kept()
            return fibonacci(int(x) + 20), kind(int(x)), kind(""), kept.half, kept.plus(int(x)), kept.name(), "half" in vars(kept)
        print(list(hr.Dataset.range(3).map(seen, num_parallel_calls=1).with_options(EXECUTOR)))
        print([fibonacci.cache_info().maxsize, *hr.Dataset.range(3).map(int).map(fibonacci, num_parallel_calls=1).with_options(EXECUTOR)])
        """,
    "classes of the program that know those below them": """
        known = {}
        class Plugin:
            def __init_subclass__(cls, *, tag, **others):
                super().__init_subclass__(**others)
                assert tag not in known
                known[tag] = cls
                cls.tag = tag
        class One(Plugin, tag="one"):
            pass
        class Two(One, tag="two"):
            pass
        def made(x):
            return known["two"](), known["one"].tag, len(known)
        for made, *others in hr.Dataset.range(3).map(made, num_parallel_calls=1).with_options(EXECUTOR):
            print(type(made) is Two, known == {"one": One, "two": Two}, others)
        class Three(Plugin, tag="three"):
            pass
        print(sorted(known))
        """,
    "states of classes of the program, stored and read again": """
        @dataclasses.dataclass
        class Total:
            n: int
        def added(total, x):
            total = Total(total.n + int(x))
            return total, total.n
        dataset = hr.Dataset.range(6).scan(Total(0), added).with_options(EXECUTOR)
        iterator = iter(dataset)
        print(next(iterator), next(iterator))
        state = iterator.state_dict()
        iterator.close()
        again = iter(dataset)
        again.load_state_dict(state)
        print(list(again))
        """,
    "classes of the program in what a function pickles, and in files": """
        import pickle, tempfile
        def again(x):
            return pickle.loads(pickle.dumps(Color(int(x) % 2))), Point(int(x), np.zeros(3))
        with tempfile.TemporaryDirectory() as folder:
            dataset = hr.Dataset.range(4).map(again, num_parallel_calls=1).with_options(EXECUTOR)
            print([(color is Color.BLUE, point.x) for color, point in dataset])
            dataset = hr.Dataset.from_generator(points).map(lambda point: point, num_parallel_calls=1)
            dataset = dataset.cache(folder + "/kept").with_options(EXECUTOR)
            print([point.x for point in dataset], [type(point) is Point for point in dataset])
        """,
    "functions named as ours": """
        print([int(x) for x in hr.Dataset.range(3).map(main, num_parallel_calls=2).with_options(EXECUTOR)])
        """,
    "environment and arguments": """
        def seen(x):
            return os.environ.get("PYTHONPATH"), tuple(sys.argv[1:]), os.getcwd()
        ours = os.environ.get("PYTHONPATH"), tuple(sys.argv[1:]), os.getcwd()
        print(list(hr.Dataset.range(1).map(seen, num_parallel_calls=1).with_options(EXECUTOR)) == [ours])
        """,
    "a module from a path that was added later": """
        import tempfile, pathlib
        print([int(x) for x in hr.Dataset.range(2).map(main, num_parallel_calls=1).with_options(EXECUTOR)])
        folder = tempfile.TemporaryDirectory()
        pathlib.Path(folder.name, "added_later.py").write_text("def plus(x): return x + 100")
        sys.path.append(folder.name)
        import added_later
        print([int(x) for x in hr.Dataset.range(2).map(added_later.plus, num_parallel_calls=1).with_options(EXECUTOR)])
        """,
    "what a function prints without a newline at its end": """
        import select, subprocess
        def prints(x):
            print("seen", x, flush=False)
            return os.getpid()
        (pid,) = hr.Dataset.range(1).map(prints, num_parallel_calls=1).with_options(EXECUTOR)
        """,
    "a program that is started by a function takes Ctrl-C": """
        import signal, subprocess
        def started(x):
            code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        print(list(hr.Dataset.range(1).map(started, num_parallel_calls=1).with_options(EXECUTOR)))
        """,
    "what is set of the interpreter": """
        sys.setrecursionlimit(4000)
        def deep(n):
            return n and 1 + deep(n - 1)
        def function(x):
            sys.stdout = None
            return deep(2500)
        found = list(hr.Dataset.range(1).map(function, num_parallel_calls=1).with_options(EXECUTOR))
        sys.stdout = sys.__stdout__
        print(found)
        """,
}


@pytest.mark.parametrize("executor", ["subprocess", "process"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_program_prints_what_it_prints_with_threads(body: str, executor: str) -> None:
    body = textwrap.dedent(body)
    assert printed(body, executor) == printed(body, "thread")


@pytest.mark.parametrize("executor", ["subprocess", "process"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_function_prints_whole_lines(unbuffered: str, executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    body = """
    def prints(x):
        print("one", end=" ", flush=False)
        os.write(1, b"of another process\\n")
        print("line")
    list(hr.Dataset.range(1).map(prints, num_parallel_calls=1).with_options(EXECUTOR))
    """
    assert printed(body, executor) == "of another process\none line\n"


def test_an_isolated_interpreter_has_processes_that_find_what_it_finds() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})" + textwrap.dedent("""
        import headrace as hr
        for executor in ("subprocess", "process"):
            dataset = hr.Dataset.range(3).map(lambda x: x + 1, num_parallel_calls=1)
            print([int(x) for x in dataset.with_options(hr.Options(executor=executor))])
        """)
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, check=False, text=True, timeout=LIMIT_S
    )
    assert (ran.stdout, ran.stderr) == ("[1, 2, 3]\n[1, 2, 3]\n", "")


def test_a_module_of_the_standard_library_is_not_that_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise RuntimeError('not this one')")
    (tmp_path / "program.py").write_text(
        "import random, headrace as hr\n"
        "print([int(x) for x in hr.Dataset.range(2).map(lambda x: x).with_options(hr.Options(executor='subprocess'))])"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "program.py").rename(elsewhere / "program.py")
    ran = subprocess.run(
        [sys.executable, str(elsewhere / "program.py")],
        capture_output=True,
        check=False,
        text=True,
        timeout=LIMIT_S,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert (ran.stdout, ran.stderr) == ("[0, 1]\n", "")


def test_a_module_that_ends_the_process_when_it_is_imported_is_an_error_and_no_endless_start(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text(
        "import os, sys\nif 'headrace.worker.__main__' in sys.modules: os._exit(0)\ndef f(x): return x\n"
    )
    body = f"""
        sys.path.append({str(tmp_path)!r})
        import leaving
        try:
            list(hr.Dataset.range(2).map(leaving.f, num_parallel_calls=1).with_options(EXECUTOR))
        except hr.errors.WorkerError as error:
            print("before it began, 3 times" in str(error))
        """
    assert printed(body, "subprocess") == "True\n"


@pytest.mark.parametrize("executor", ["subprocess", "process"])
def test_a_module_that_only_this_program_has_is_an_error_that_says_what_to_do(executor: str) -> None:
    body = """
        import types
        made = sys.modules["made_here"] = types.ModuleType("made_here")
        exec("def double(x): return x * 2", vars(made))
        try:
            list(hr.Dataset.range(2).map(abs).map(made.double, num_parallel_calls=1).with_options(EXECUTOR))
        except hr.errors.InvalidArgumentError as error:
            print("No module named 'made_here'. Have it in a file on sys.path" in str(error))
            print(error.stage.partition(" (")[0])
        """
    assert printed(body, executor) == "True\nmap 'double'\n"


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_child_of_multiprocessing_has_processes_of_its_own(way: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import multiprocessing, sys
        import headrace as hr

        class Seen:
            def __init__(self, x):
                self.x = x

        def seen(x):
            return Seen(int(x))

        DATASETS = [
            hr.Dataset.range(3).map(seen, num_parallel_calls=1).with_options(hr.Options(executor=executor))
            for executor in ("subprocess", "process")
        ]

        def read(queue):
            for dataset in DATASETS:
                queue.put([one.x for one in dataset if type(one) is Seen])

        if __name__ == "__main__":
            for dataset in DATASETS:
                next(iter(dataset))
            context = multiprocessing.get_context(sys.argv[1])
            queue = context.Queue()
            child = context.Process(target=read, args=(queue,))
            child.start()
            print(queue.get(), queue.get())
            child.join()
        """)
    )
    ran = subprocess.run(
        [sys.executable, str(program), way],
        capture_output=True,
        check=False,
        text=True,
        timeout=LIMIT_S,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert (ran.stdout, ran.stderr) == ("[0, 1, 2] [0, 1, 2]\n", "")
