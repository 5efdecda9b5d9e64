"""A module that was loaded anew between two epochs is the new one for every executor, as it is in the program itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0

PROGRAM = """
import importlib, os, sys
from pathlib import Path
import headrace as hr
import used, used_package
from used import taken

def by_module(x):
    return used.f(x), used_package.inside.f(x), taken(x), os.getpid()

def write(module, number):
    Path(module.__file__).write_text(f"def f(x):\\n    return int(x) + {number}\\ndef taken(x):\\n    return f(x)\\n")

def reload(module):
    importlib.reload(module)

def import_again(module):
    del sys.modules[module.__name__]
    importlib.import_module(module.__name__)

changed = {"reload": reload, "import again": import_again}[sys.argv[2]]
where = [hr.Dataset.range(4).map(by_module, num_parallel_calls=2), hr.Dataset.range(4).map(by_module).map(lambda *all: all)]
datasets = [one.with_options(hr.Options(executor=sys.argv[1])) for one in where]
pids = []

def epochs():
    for dataset in datasets:
        elements = list(dataset)
        print([element[:3] for element in elements])
        pids.append({element[3] for element in elements})

epochs()
for module, number in ((used, 1000), (used_package.inside, 1000000)):
    write(module, number)
    changed(module)
    import used, used_package
    epochs()
epochs()
last = pids[-4:]
print("the same processes where nothing changed:", last[2] <= last[0] and last[3] <= last[1] if sys.argv[1] == "subprocess" else True)
"""


def printed(folder: Path, executor: str, way: str) -> str:
    (folder / "used_package").mkdir(parents=True)
    (folder / "used_package" / "__init__.py").write_text("from used_package import inside\n")
    for path in ("used.py", "used_package/inside.py"):
        (folder / path).write_text("def f(x):\n    return int(x)\ndef taken(x):\n    return f(x)\n")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, executor, way],
        capture_output=True,
        check=False,
        text=True,
        timeout=LIMIT_S,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("way", ["reload", "import again"])
@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_processes_run_what_the_program_runs(tmp_path: Path, executor: str, way: str) -> None:
    theirs = printed(tmp_path / "theirs", executor, way)
    assert theirs == printed(tmp_path / "own", "thread", way)
    assert "1000003" in theirs
