"""Where sockets are: in a folder that is this user's alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from headrace.errors import FailedPreconditionError
from headrace.live.folder import check_own, folders, own_folder, pid_of

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs a system with users as POSIX has them")


def test_it_is_in_the_runtime_folder_and_private(tmp_path: Path) -> None:
    made = own_folder({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert made == tmp_path / "headrace"
    assert made.stat().st_mode & 0o777 == 0o700
    assert own_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) == made


@pytest.mark.parametrize("runtime", ["", "relative", "/nowhere/at/all"])
def test_without_a_runtime_folder_it_is_in_the_temporary_one(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert own_folder({"XDG_RUNTIME_DIR": runtime}) == tmp_path / f"headrace-{os.geteuid()}"


def test_a_runtime_folder_of_another_user_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    assert [one.name for one in folders({"XDG_RUNTIME_DIR": str(tmp_path)})] == ["headrace-54321"]


def test_who_looks_looks_in_both(tmp_path: Path) -> None:
    assert len(list(folders({"XDG_RUNTIME_DIR": str(tmp_path)}))) == 2


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = own_folder({"XDG_RUNTIME_DIR": str(tmp_path)})
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    with pytest.raises(FailedPreconditionError, match="no folder of yours"):
        check_own(made)


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "headrace").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FailedPreconditionError, match="no folder of yours"):
        own_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_folder_that_others_may_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "headrace").mkdir()
    (tmp_path / "headrace").chmod(0o750)
    with pytest.raises(FailedPreconditionError, match="chmod 700"):
        own_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_socket_is_named_for_its_process() -> None:
    assert pid_of(Path("123-abcd.sock")) == 123
    assert pid_of(Path("other.sock")) is None
