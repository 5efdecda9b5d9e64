"""What a process tells of its pipelines, to whom, and that nobody who asks can do it any harm."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.live import answering, asking
from headrace.live.asking import ask, chosen, nothing_runs, running
from headrace.observe.onlookers import ONLOOKERS

LIMIT_S = 30.0

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")


def is_listening() -> None:
    """Waits until the door of this process is open."""
    door: Any = ONLOOKERS._door
    assert door is not None
    bounded = threading.Event()
    for _ in range(1_000):
        if door.sockets and list(Path(os.environ["XDG_RUNTIME_DIR"]).glob("headrace/*.sock")):
            return
        bounded.wait(LIMIT_S / 1_000)
    pytest.fail("nobody listens")


def told(places: list[Path]) -> dict[str, Any]:
    is_listening()
    (process,) = running(places)
    return process


def request(places: list[Path], line: bytes) -> bytes:
    (path,) = places[0].iterdir()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(str(path))
        connection.sendall(line)
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
        return b"".join(parts)


def add_one(x: int) -> int:
    return x + 1


@pytest.mark.parametrize("executor", ["thread", "inline", "subprocess"])
def test_an_open_iterator_is_told_with_its_plan_its_figures_and_what_holds_it_up(
    executor: str, places: list[Path]
) -> None:
    ds = hr.Dataset.range(1000).map(add_one, num_parallel_calls=2).batch(4).prefetch(2)
    with iter(ds.with_options(hr.Options(executor=executor))) as iterator:
        for _ in range(5):
            next(iterator)
        process = told(places)
        (run,) = process["runs"]
        assert process["pid"] == os.getpid()
        assert process["world_size"] == 1
        assert run["executor"] == executor
        assert run["stats"]["elements"] == 5
        assert run["verdict"]
        names = [stage["name"] for stage in run["stats"]["stages"]]
        assert len(names) == len(run["stages"]) == len(iterator.stats().stages)
        for line, number in run["plan"]:
            assert number == -1 or line.lstrip().startswith(names[number])
        assert {number for _, number in run["plan"]} - {-1} == set(range(len(names)))
        assert run["stages"][-1]["reads"] == [len(names) - 2]
        if executor != "inline":
            assert run["stages"][-1]["room"] == 2
    assert running(places) == []


def test_the_socket_is_private_and_gone_with_the_last_run(places: list[Path]) -> None:
    iterator, other = iter(hr.Dataset.range(9)), iter(hr.Dataset.range(9))
    next(iterator), next(other)
    assert [len(process["runs"]) for process in [told(places)]] == [2]
    (path,) = places[0].iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    iterator.close()
    assert [run["number"] for run in told(places)["runs"]]
    other.close()
    assert not path.parent.exists()
    assert not any(thread.name == "headrace-live" for thread in threading.enumerate())


def test_of_a_feed_the_loop_is_told_and_not_the_thread_that_reads_ahead(places: list[Path]) -> None:
    torch = pytest.importorskip("torch", reason="pip install torch")
    feed = iter(hr.Dataset.range(1000).batch(4).to_torch())
    for _ in range(3):
        next(feed)
    (run,) = told(places)["runs"]
    assert run["stats"]["step"]["waited"]["count"] == 3
    assert torch is not None
    feed.close()


def test_a_pipeline_from_which_nothing_comes_says_what_holds_it(places: list[Path]) -> None:
    asked, answer = threading.Event(), threading.Event()

    def hangs(x: int) -> int:
        asked.set()
        assert answer.wait(LIMIT_S)
        return x

    iterator = iter(hr.Dataset.range(3).map(hangs))
    reader = threading.Thread(target=next, args=(iterator,))
    reader.start()
    assert asked.wait(LIMIT_S)
    (run,) = told(places)["runs"]
    assert [(stall["origin"], "hangs" in stall["stage"]) for stall in run["stalls"]] == [("element 0", True)]
    assert run["waits"] == 1.0
    assert run["verdict"].startswith("nothing has come for ")
    answer.set()
    reader.join(LIMIT_S)
    iterator.close()


def test_a_pipeline_that_is_held_up_after_some_elements_says_so_and_not_what_it_could_give(
    places: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "_HELD_UP_S", 0.0)
    monkeypatch.setattr(answering, "_HELD_UP", 0)
    asked, answer = threading.Event(), threading.Event()

    def hangs(x: int) -> int:
        if x == 2:
            asked.set()
            assert answer.wait(LIMIT_S)
        return x

    iterator = iter(hr.Dataset.range(3).map(hangs))
    assert [next(iterator), next(iterator)] == [0, 1]
    reader = threading.Thread(target=next, args=(iterator,))
    reader.start()
    assert asked.wait(LIMIT_S)
    (run,) = told(places)["runs"]
    assert (run["bottleneck"], run["verdict"].startswith("nothing has come for ")) == (1, True)
    answer.set()
    reader.join(LIMIT_S)
    iterator.close()


def test_what_failed_is_told(places: list[Path]) -> None:
    def fails(x: int) -> int:
        if x == 1:
            raise ValueError("no such picture")
        return x

    with iter(hr.Dataset.range(9).map(fails, on_error="skip")) as iterator:
        for _ in range(3):
            next(iterator)
        (run,) = told(places)["runs"]
    (failures,) = run["stats"]["failures"]
    assert failures["skipped"] == 1
    assert failures["first"][0]["message"] == "ValueError: no such picture"


@pytest.mark.parametrize(
    "line",
    [b"\n", b"{}\n", b'{"ask":"stop"}\n', b'["ask"]\n', b"import os\n", b"\xff\x00\n", b'{"ask":{"runs":1}}\n'],
)
def test_any_other_request_is_refused_in_words(line: bytes, places: list[Path]) -> None:
    with iter(hr.Dataset.range(9)) as iterator:
        next(iterator)
        is_listening()
        assert "runs" in json.loads(request(places, line))["error"]
        assert len(told(places)["runs"]) == 1


def test_a_request_that_is_too_long_is_left(places: list[Path]) -> None:
    with iter(hr.Dataset.range(9)) as iterator:
        next(iterator)
        is_listening()
        with contextlib.suppress(ConnectionError):
            assert request(places, b"x" * 5000 + b"\n") == b""
        assert len(told(places)["runs"]) == 1


def test_who_asks_and_says_nothing_keeps_nobody_from_ending(places: list[Path]) -> None:
    iterator = iter(hr.Dataset.range(9))
    next(iterator)
    is_listening()
    (path,) = places[0].iterdir()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        iterator.close()
        assert not any(thread.name == "headrace-live" for thread in threading.enumerate())
    assert not path.exists()


def test_an_iterator_that_cannot_be_told_hides_no_other(places: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    broken, whole = iter(hr.Dataset.range(9)), iter(hr.Dataset.range(9))
    next(broken), next(whole)

    def breaks() -> Any:
        raise RuntimeError("changed while it was read")

    monkeypatch.setattr(broken, "stats", breaks)
    runs = told(places)["runs"]
    assert sorted("error" in run for run in runs) == [False, True]
    broken.close()
    whole.close()


def has_no_door(_: int) -> bool:
    return ONLOOKERS._made_door is None


@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_the_trainer_answers_for_its_processes(executor: str, places: list[Path]) -> None:
    ds = hr.Dataset.range(2).map(has_no_door, num_parallel_calls=1)
    assert list(ds.with_options(hr.Options(executor=executor))) == [True, True]


def test_a_socket_of_a_dead_process_is_found_and_removed(places: list[Path]) -> None:
    (folder,) = places
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "999999999-left.sock"))
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / ".999999999-before-it-listened"))
    assert running(places) == []
    assert not folder.exists()


def test_who_opens_a_door_removes_what_dead_processes_left_and_nothing_of_others(places: list[Path]) -> None:
    (folder,) = places
    folder.mkdir(mode=0o700)
    dead, alive = folder / "999999999-left.sock", folder / "999999998-elsewhere.sock"  # of another container
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(dead))
    with socket.socket(socket.AF_UNIX) as elsewhere, iter(hr.Dataset.range(9)) as iterator:
        elsewhere.bind(str(alive))
        elsewhere.listen()
        elsewhere.settimeout(LIMIT_S)
        next(iterator)
        elsewhere.accept()[0].close()  # which was asked whether it is there
        bounded = threading.Event()
        for _ in range(1_000):
            if not dead.exists():
                break
            bounded.wait(LIMIT_S / 1_000)
        assert [dead.exists(), alive.exists()] == [False, True]
    alive.unlink()


def test_where_there_can_be_no_folder_the_run_goes_on_without_a_door(
    places: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(places[0] / "nowhere"))
    with iter(hr.Dataset.range(9)) as iterator:
        next(iterator)
        door: Any = ONLOOKERS._door
        door._thread.join(LIMIT_S)
        assert not door._thread.is_alive()
        assert list(iterator) == list(range(1, 9))


def test_a_process_that_does_not_answer_is_told_as_such(places: list[Path]) -> None:
    (folder,) = places
    folder.mkdir(mode=0o700)
    path = folder / f"{os.getpid()}-busy.sock"
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen()
        assert ask(path, patience_s=0.01) == {
            "pid": os.getpid(),
            "program": "",
            "runs": [],
            "error": "it does not answer",
        }
    assert path.exists()


def test_one_that_is_silent_makes_no_other_late(places: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=LIMIT_S)

    def asked(path: Path) -> dict[str, Any]:
        both.wait()
        return {"pid": int(path.stem.partition("-")[0])}

    (folder,) = places
    folder.mkdir(mode=0o700)
    for name in (f"{os.getpid()}-a.sock", f"{os.getppid()}-b.sock"):
        (folder / name).touch()
    monkeypatch.setattr(asking, "ask", asked)
    assert sorted(told["pid"] for told in running(places)) == sorted([os.getpid(), os.getppid()])


def test_who_is_between_two_epochs_is_looked_at_again() -> None:
    train, other, closed = {"pid": 1, "runs": ["a"]}, {"pid": 2, "runs": ["b"]}, {"pid": 1, "runs": []}
    looks = iter([[train, other], [other], [closed, other], [train, {"pid": 2, "runs": []}], [train]])
    lookout = asking.Lookout(lambda: next(looks), patience_s=LIMIT_S)
    assert lookout() == [train, other]
    assert lookout() == [other, train]
    lookout = asking.Lookout(lambda: next(looks), patience_s=0)
    assert lookout() == [train]


def test_a_system_without_such_sockets_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "geteuid")
    with pytest.raises(hr.errors.FailedPreconditionError, match="Unix sockets"):
        running()


def test_what_json_has_no_number_for_is_none() -> None:
    assert answering._finite({"a": [float("inf"), float("nan"), 1.5, 1, None, True, "x"]}) == {
        "a": [None, None, 1.5, 1, None, True, "x"]
    }


@pytest.mark.parametrize(
    ("argument", "name"), [("/jobs/train.py", "train.py"), ("/jobs/train/__main__.py", "train"), ("-c", "python")]
)
def test_a_program_is_called_by_its_file_or_module(argument: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [argument])
    assert answering.program() == name


def test_processes_are_chosen_by_number_or_name() -> None:
    processes = [{"pid": 12, "program": "train.py"}, {"pid": 7, "program": "evaluate"}]
    assert chosen(processes, None) == processes
    assert chosen(processes, "7") == processes[1:]
    assert chosen(processes, "train") == processes[:1]
    assert chosen(processes, "1") == []
    assert "train.py (12), evaluate (7)" in nothing_runs(processes, "1")
    assert "HEADRACE_LIVE" in nothing_runs([], None)
