from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from headrace.errors import FailedPreconditionError, InvalidArgumentError, ResourceExhaustedError
from headrace.io.atomic_file import AtomicFile


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.bin"
    with AtomicFile(path) as file:
        file.write(b"one")
        file.write(memoryview(b"two"))
        assert (file.tell(), file.is_open, path.exists()) == (6, True, False)
    assert path.read_bytes() == b"onetwo"
    assert names(path.parent) == ["a.bin"]
    assert not file.is_open


def test_an_exception_leaves_what_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError), AtomicFile(path) as file:
        file.write(b"half of")
        raise ZeroDivisionError
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["a.bin"]


def test_what_nobody_completes_is_removed_with_the_object(tmp_path: Path) -> None:
    file = AtomicFile(tmp_path / "a.bin")
    file.write(b"forgotten")
    del file
    gc.collect()
    assert names(tmp_path) == []


def test_completing_twice_and_abandoning_afterwards_do_nothing(tmp_path: Path) -> None:
    file = AtomicFile(tmp_path / "a.bin")
    file.write(b"x")
    file.complete()
    file.complete()
    file.abandon()
    assert (tmp_path / "a.bin").read_bytes() == b"x"
    gone = AtomicFile(tmp_path / "b.bin")
    gone.abandon()
    gone.complete()
    assert names(tmp_path) == ["a.bin"]


def test_the_last_of_several_writers_wins(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with AtomicFile(path) as first, AtomicFile(path) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"  # the outer one completes last
    assert names(tmp_path) == ["a.bin"]


def test_where_nothing_can_be_written_the_error_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FailedPreconditionError, match=r"file/a.bin cannot be written"):
        AtomicFile(tmp_path / "file" / "a.bin")
    with pytest.raises(InvalidArgumentError, match="named by a non-empty str"):
        AtomicFile("")


def test_no_permission_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "denied")

    monkeypatch.setattr("headrace.io.atomic_file.os.makedirs", lambda *_, **__: refuse())
    with pytest.raises(FailedPreconditionError, match=r"a.bin cannot be written: denied; look at its folder"):
        AtomicFile(tmp_path / "a.bin")


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    file = AtomicFile(tmp_path / "a.bin")
    file.write(b"x")
    monkeypatch.setattr("headrace.io.atomic_file.os.fsync", full)
    with pytest.raises(ResourceExhaustedError, match=r"a.bin cannot be written to its end: No space left.*make room"):
        file.complete()
    assert names(tmp_path) == []


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.bin").mkdir()
    file = AtomicFile(tmp_path / "a.bin")
    with pytest.raises(FailedPreconditionError, match=r"a.bin cannot be written"):
        file.complete()
    assert names(tmp_path) == ["a.bin"]


def test_files_that_are_not_local_are_renamed_as_well() -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    with AtomicFile("memory://beside/a.bin") as file:
        file.write(b"all of it")
        assert not system.exists("/beside/a.bin")
    assert system.cat_file("/beside/a.bin") == b"all of it"
    with pytest.raises(ZeroDivisionError), AtomicFile("memory://beside/b.bin") as file:
        raise ZeroDivisionError
    assert system.ls("/beside", detail=False) == ["/beside/a.bin"]
    system.rm("/beside", recursive=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("address", ["", "file://"])
@pytest.mark.parametrize(
    "ending",
    [
        "file.abandon(); os._exit(0)",
        "sys.exit(0)",  # and with the interpreter what is buffered
        "del file; gc.collect(); os._exit(0)",
        "file.__exit__(None, None, None)",
        "file.write(b'of another')",
        "file.complete()",
    ],
)
def test_a_forked_process_leaves_the_file_to_its_parent(tmp_path: Path, ending: str, address: str) -> None:
    program = f"""
        import gc, os, sys
        from headrace.errors import FailedPreconditionError
        from headrace.io.atomic_file import AtomicFile
        file = AtomicFile(sys.argv[1])
        file.write(b"all ")
        child = os.fork()
        if not child:
            try:
                {ending}
            except FailedPreconditionError as error:
                assert "forked" in str(error)
                sys.exit(7)
            os._exit(0)
        expected = 7 if "complete" in {ending!r} or "write" in {ending!r} or "exit__" in {ending!r} else 0
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == expected
        file.write(b"of it")
        file.complete()
    """
    command = [sys.executable, "-c", textwrap.dedent(program), f"{address}{tmp_path / 'a.bin'}"]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True)
    assert done.stderr == b""
    assert names(tmp_path) == ["a.bin"]
    assert (tmp_path / "a.bin").read_bytes() == b"all of it"
