"""The project as a whole: what `import headrace` costs and promises, and that the guards of the test suite bite."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest

import headrace as hr

ROOT = Path(__file__).parents[2]
# Extras, and core dependencies that are imported when first used.
LAZY = {
    "cv2", "fsspec", "google_crc32c", "jax", "matplotlib", "psutil", "pyarrow", "pynvml", "ray", "rich", "simplejpeg",
    "soundfile", "soxr", "starlette", "tensorflow", "torch", "typer", "uvicorn",
}  # fmt: skip


def test_importing_headrace_imports_nothing_that_can_wait() -> None:
    code = "import sys, headrace; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert LAZY.isdisjoint(result.stdout.split())


# Of Python's own library, what takes milliseconds to import and few programs need.
DEAR = {
    "asyncio", "bz2", "concurrent.futures", "email", "glob", "hashlib", "html", "http", "ipaddress", "json", "logging", "lzma", "pathlib",
    "random", "shutil", "socket", "subprocess", "unittest", "urllib.parse", "zipfile",
}  # fmt: skip


def modules_after(program: str) -> set[str]:
    code = f"import sys\n{program}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(result.stdout.split())


def test_importing_headrace_imports_nothing_dear_that_numpy_and_optree_do_not() -> None:
    beyond = modules_after("import headrace") - modules_after("import numpy, optree")
    assert beyond.isdisjoint(DEAR)


def test_the_first_run_imports_what_its_plan_needs() -> None:
    before = modules_after("import headrace")
    loaded = modules_after("import headrace; next(iter(headrace.Dataset.range(5000).batch(2)))") - before
    stages = {name.rpartition(".")[2] for name in loaded if name.startswith("headrace.physical.stages.")}
    assert stages == {"sources", "grouping", "grouping_batches"}
    ours = {"headrace.backends.reference", "headrace.caching.disk", "headrace.io.elements.file", "headrace.io.sql"}
    assert loaded.isdisjoint(DEAR | ours)


def test_what_is_made_at_once_imports_no_stages_that_it_does_not_need() -> None:
    loaded = modules_after("import headrace; list(headrace.Dataset.range(3).batch(2))")
    stages = {
        name.removeprefix("headrace.physical.stages.")
        for name in loaded
        if name.startswith("headrace.physical.stages.")
    }
    assert stages == {"at_once", "at_once.sources", "at_once.grouping", "grouping_batches"}


def test_the_public_surface_is_in_order_and_every_name_of_it_is_there() -> None:
    def constants_then_classes_then_the_rest(name: str) -> tuple[bool, bool, str]:
        return not name.isupper(), not name[0].isupper(), name

    assert hr.__all__ == sorted(set(hr.__all__), key=constants_then_classes_then_the_rest)
    assert [name for name in hr.__all__ if not hasattr(hr, name)] == []


def test_whatever_is_public_by_its_name_stands_in_the_public_surface() -> None:
    modules = {name for name, value in vars(hr).items() if isinstance(value, types.ModuleType)}
    named = {name for name in vars(hr) if not name.startswith("_")} - modules - {"annotations", "TYPE_CHECKING"}
    assert named <= set(hr.__all__)


def test_users_see_our_types() -> None:
    assert hr.__file__ is not None
    assert (Path(hr.__file__).parent / "py.typed").exists()


def test_the_version_is_the_installed_one() -> None:
    assert hr.__version__ == importlib.metadata.version("headrace"), "reinstall: rm .venv/.ready-*; make setup"


def test_the_examples_of_the_readme_run(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert blocks, "the README has no example"
    command = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr


def test_what_is_run_before_a_change_is_taken_begins_with_the_commands_of_the_readme() -> None:
    promised = re.findall(
        r"^    (make \w+) +# ", (ROOT / "README.md").read_text().partition("## Use it")[0], re.MULTILINE
    )
    script = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    commands = [line for line in script if re.match(r"(exec )?make\b", line)]
    assert promised[:2] == ["make demo", "make test"]
    # A setting may make the demo short: its options, and nothing that changes how anything is installed.
    assert [re.sub(r' ARGS="[^"]*"$', "", line) for line in commands[:2]] == promised[:2]
    assert commands[1] == "make test"
    assert not any(
        word in line for line in script[: script.index("make test")] for word in ("pip ", "export ", "VENV=")
    )
    # With pytest's count as the last line.
    assert script[-1] == commands[-1]
    assert re.match(r"exec make check docs test VENV=\S+ EXTRAS=", script[-1])


def test_a_unit_test_that_bears_the_name_of_a_module_stands_where_the_module_stands() -> None:
    source, tests = ROOT / "src/headrace", ROOT / "tests/unit"
    modules = {path.relative_to(source).with_suffix("") for path in source.rglob("*.py")}
    packages = {path.parent for path in modules if path.name == "__init__"}
    named = {path.name for path in modules | packages}
    for path in tests.rglob("test_*.py"):
        folder, name = path.relative_to(tests).parent, path.stem.removeprefix("test_")
        assert folder in packages | {Path("examples")}, f"{path}: src/headrace has no such package"
        here = folder / name in modules | packages or name == folder.name
        assert here or name not in named, f"{path}: no such module stands there"


def test_no_file_of_the_package_is_longer_than_can_be_kept_in_mind() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert lengths
    assert {path: length for path, length in lengths.items() if length > 400} == {}, "what of it has a name of its own?"


def test_git_runs_what_make_check_runs() -> None:
    checks = re.findall(r"^check: ([\w ]+?) +##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    hooks = re.findall(r"entry: make (\w+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert sorted(hooks) == sorted(checks[0].split())


def test_every_change_is_run_as_here_and_on_every_python_that_the_package_names() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert "- run: .ci/run\n" in workflow
    named = set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text()))
    assert named
    assert named <= set(re.findall(r'"(3\.\d+)"', workflow))


def test_what_the_callers_environment_says_of_packages_does_not_reach_a_target(tmp_path: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    (tmp_path / "show.mk").write_text("show:\n\t@env\n")
    foreign = ["PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_USER"]
    environment = os.environ | dict.fromkeys(foreign, "/nowhere")
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):  # of the make that runs these tests
        environment.pop(name, None)
    command = [make, "-s", "-C", str(ROOT), "-f", "Makefile", "-f", str(tmp_path / "show.mk"), "show", "VENV=elsewhere"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout
    assert "/nowhere" not in found.stdout


def test_make_installs_what_the_examples_that_it_runs_need() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installed = set(re.findall(r"^EXAMPLES := ([\w,]+)$", makefile, re.MULTILINE)[0].split(","))
    signs = {"torch": "import torch", "report": "matplotlib", "image": "hr.image", "tfrecord": "TFRecord"}
    for name in re.findall(r"-m examples\.(\w+)", makefile):
        text = "".join(path.read_text() for path in (ROOT / "examples" / name).glob("*.py"))
        needed = {extra for extra, sign in signs.items() if sign in text}
        assert needed, name
        assert needed <= installed


def test_every_decision_is_in_the_index() -> None:
    pages = {path.name for path in (ROOT / "docs/decisions").glob("[0-9]*.md")} - {"0000-index.md"}
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", (ROOT / "docs/decisions/0000-index.md").read_text()))
    assert listed == pages


def run_pytest(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs these tests under this project's settings and conftest, in a process of their own."""
    file = folder / "test_guarded.py"
    file.write_text(textwrap.dedent(tests))
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    command += ["-p", "tests.conftest", "-p", "no:cacheprovider", *options, str(file)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="processes and shared memory are listed by Linux only")
def test_a_test_that_leaves_something_behind_fails_and_says_what(tmp_path: Path) -> None:
    result = run_pytest(
        tmp_path,
        """
        import os, pathlib, subprocess, sys, threading
        import tests.conftest

        tests.conftest.GRACE_S = 0.05
        wake, processes = threading.Event(), []

        def test_thread():
            threading.Thread(target=wake.wait, name="headrace-forgotten", daemon=True).start()

        def test_process():
            processes.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))

        def test_segment():
            pathlib.Path(f"/dev/shm/headrace-{os.getpid()}-forgotten").touch()

        def test_that_tidies_up():
            wake.set()
            processes[0].communicate()
            pathlib.Path(f"/dev/shm/headrace-{os.getpid()}-forgotten").unlink()
        """,
    )
    assert "4 passed, 3 errors" in result.stdout
    for left in ("thread 'headrace-forgotten'", "-c input()", "-forgotten"):
        assert re.search(rf"left behind: .*{re.escape(left)}", result.stdout)


@pytest.mark.parametrize("place", ["test", "teardown after a failure"])
def test_a_test_that_hangs_ends_with_the_stacks_of_all_threads(tmp_path: Path, place: str) -> None:
    result = run_pytest(
        tmp_path,
        f"""
        import threading
        import pytest
        import tests.conftest

        tests.conftest.ENDING_LIMIT_S = 0.5

        def wait_for_ever():
            threading.Event().wait()

        @pytest.fixture
        def hanging():
            yield
            wait_for_ever()

        def test_hangs(hanging):
            assert {place == "test"}
            wait_for_ever()
        """,
        "-o",
        "faulthandler_timeout=0.5",
    )
    assert result.returncode == 1
    assert "Timeout" in result.stderr
    assert "in wait_for_ever" in result.stderr
