"""What a program has set in a module of its own is not in a process that imports the module: that is said of each name, once, and of nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.laws.running import THOROUGH

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0
IN_PROCESSES = ["process", "subprocess"]

CONFIG = """
import argparse, dataclasses, pathlib, types

@dataclasses.dataclass
class Model:
    width: int = 1

@dataclasses.dataclass(repr=False, eq=False)
class Silent:
    k: int = 1

    def __repr__(self):
        raise ValueError("no words")

@dataclasses.dataclass
class Kept:
    k: int = 1

    def __reduce__(self):
        raise ValueError("not to be sent")

@dataclasses.dataclass
class Unmade:
    k: int = 1

    def __reduce__(self):
        return int, ("x",)

silent = Silent()
kept = Kept()
unmade = Unmade()
scale = 1
by_name = 1
names = ["a"]
nested = {"a": {"b": 1}}
args = None
space = types.SimpleNamespace(k=1)
model = Model()
folder = pathlib.Path("a")
nothing = float("nan")
_private = 1
unnamed = 1
large = [1] * 10_000
"""

USED = """
import functools
import config
import package.inside
from config import by_name

counter = 1

def helper(x):
    return x * config.scale

class Below:
    shift = 2

    def __call__(self, x):
        return helper(x) + package.inside.deep

    @staticmethod
    def named(x):
        return x + by_name

class Model(Below):
    @property
    def much(self):
        return config.model.width

@functools.wraps(helper)
def wrapped(x):
    return helper(x)

def outer(x):
    def inner():
        return config.nested["a"]["b"] + config._private + len(config.large) + (0 if config.nothing else 1)
    return x + inner()

def setup():
    config.scale = 3
"""

PROGRAM = """
import argparse, functools, importlib, pathlib, sys
import headrace as hr
import config, package, package.inside, used

EXECUTOR = sys.argv[1]

def said(function, change=None, **options):
    dataset = hr.Dataset.range(3).map(function, num_parallel_calls=1).with_options(hr.Options(executor=EXECUTOR, **options))
    if change is not None:
        if EXECUTOR == "subprocess":
            list(dataset)
        change()
    for _ in range(2):
        list(dataset)

def edit(before, after):
    file = pathlib.Path("used.py")
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))

def main():
    BODY

main()
"""

# What a function names, what the program sets, and of which names something is said.
CASES = {
    "an attribute of a module": (
        "said(lambda x: x * config.scale, lambda: setattr(config, 'scale', 2))",
        ["config.scale"],
    ),
    "by a function that is called": (
        "said(lambda x: used.helper(x), lambda: setattr(config, 'scale', 2))",
        ["config.scale"],
    ),
    "the function itself": ("said(used.helper, lambda: setattr(config, 'scale', 2))", ["config.scale"]),
    "a wrapped one": ("said(used.wrapped, lambda: setattr(config, 'scale', 2))", ["config.scale"]),
    "bound": ("said(functools.partial(used.helper), lambda: setattr(config, 'scale', 2))", ["config.scale"]),
    "of an object that is called": (
        "said(used.Below(), lambda: setattr(package.inside, 'deep', 9))",
        ["package.inside.deep"],
    ),
    "of a class below": ("said(used.Model(), lambda: setattr(config.model, 'width', 9))", ["config.model"]),
    "of a static method": ("said(used.Below.named, lambda: setattr(used, 'by_name', 9))", ["used.by_name"]),
    "where it was taken from": ("said(used.Below.named, lambda: setattr(config, 'by_name', 9))", []),
    "inside of a function": ("said(used.outer, lambda: config.nested['a'].update(b=2))", ["config.nested"]),
    "a list": ("said(lambda x: len(config.names), lambda: config.names.append('b'))", ["config.names"]),
    "what argparse gives": (
        "said(lambda x: config.args and 1, lambda: setattr(config, 'args', argparse.Namespace(k=1)))",
        ["config.args"],
    ),
    "a namespace": ("said(lambda x: config.space.k, lambda: setattr(config.space, 'k', 2))", ["config.space"]),
    "a path": (
        "said(lambda x: str(config.folder), lambda: setattr(config, 'folder', pathlib.Path('b')))",
        ["config.folder"],
    ),
    "of a class": ("said(used.Below(), lambda: setattr(used.Below, 'shift', 9))", ["used.Below.shift"]),
    "a function in the place of another": ("used.helper = lambda x: x; said(used.Below())", ["used.helper"]),
    "one that is sent with who names it": ("used.helper = lambda x: x; used.Below; said(used.wrapped)", []),
    "a function of the program in its place": (
        "used.helper = said; said(lambda x: used.outer(x) or used.helper)",
        ["used.helper"],
    ),
    "a file that was edited": (
        "edit('return x * config.scale', 'return x * config.scale + 1'); said(used.wrapped)",
        ["used.helper"],
    ),
    "an edited method": (
        "edit('return helper(x) + package', 'return 1 + helper(x) + package'); said(used.Model())",
        ["used.Below.__call__"],
    ),
    "an edited property": (
        "edit('return config.model', 'return 1 + config.model'); said(used.Model())",
        ["used.Model.much"],
    ),
    "a function that is gone": (
        "edit('def outer', 'def another'); said(lambda x: x > 99 and used.outer)",
        ["used.outer"],
    ),
    "a file in which lines were added": (
        "edit('counter = 1', '# a comment' + chr(10) * 3 + 'counter = 1'); said(used.Model())",
        [],
    ),
    "an edit of what no function names": ("edit('def outer(x):', 'def outer(x, y):'); said(used.Model())", []),
    "an edit that was loaded": (
        "edit('return x * config.scale', 'return x * config.scale + 1'); importlib.reload(used); said(used.wrapped)",
        [],
    ),
    "two": (
        "said(lambda x: (config.scale, used.by_name), lambda: (setattr(config, 'scale', 2), setattr(used, 'by_name', 3)))",
        ["config.scale", "used.by_name"],
    ),
    "nothing": (
        "said(used.Model()); said(used.outer); said(lambda x: (config.model.width, config.args, config.nothing))",
        [],
    ),
    "what has no words": (
        "said(lambda x: (config.silent.k, config.scale), lambda: setattr(config, 'scale', 2))",
        ["config.scale"],
    ),
    "what cannot be sent": ("said(lambda x: config.kept.k, lambda: setattr(config.kept, 'k', 2))", []),
    "what cannot be made again": ("said(lambda x: config.unmade.k, lambda: setattr(config.unmade, 'k', 2))", []),
    "the same again": ("said(used.helper, lambda: setattr(config, 'scale', 1))", []),
    "what no function names": ("said(used.helper, lambda: setattr(config, 'unnamed', 2))", []),
    "what a module keeps for itself": ("said(used.outer, lambda: setattr(config, '_private', 2))", []),
    "data": ("said(used.outer, lambda: config.large.append(1))", []),
    "what a process is prepared with": (
        "used.setup(); said(used.helper, lambda: setattr(config, 'scale', 5), worker_init=used.setup)",
        [],
    ),
    "what libraries have": ("said(lambda x: sys.maxsize, lambda: setattr(sys, 'maxsize', 5))", []),
}


# In each run of the tests every case in one kind of processes, and one in threads.
RUNS = [
    *(
        (case, executor)
        for number, case in enumerate(CASES)
        for executor in (IN_PROCESSES if THOROUGH else [IN_PROCESSES[number % 2]])
    ),
    ("two", "thread"),
]


@pytest.mark.parametrize(("case", "executor"), RUNS)
def test_a_setting_that_processes_do_not_have_is_said_once(tmp_path: Path, executor: str, case: str) -> None:
    body, names = CASES[case]
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "inside.py").write_text("import package\ndeep = 1\n")
    (tmp_path / "config.py").write_text(CONFIG)
    (tmp_path / "used.py").write_text(USED)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("BODY", textwrap.dedent(body)), executor],
        capture_output=True,
        check=False,
        text=True,
        timeout=LIMIT_S,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert ran.returncode == 0, ran.stderr
    said = [line.split()[0] for line in ran.stderr.splitlines()]
    assert sorted(said) == ([] if executor == "thread" else names), ran.stderr
