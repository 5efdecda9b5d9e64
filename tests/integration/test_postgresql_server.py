"""The server that tests start themselves is where it can be; where it cannot, they are skipped and say what is in the way."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration import postgresql_server
from tests.integration.postgresql_server import HOW_TO_INSTALL, server

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Programs that do nothing and succeed, where every user may run them."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-programs-", dir="/tmp"))
    for name in ("initdb", "pg_ctl"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    folder.chmod(0o755)
    monkeypatch.setattr(postgresql_server, "_programs", lambda: folder)
    yield folder
    shutil.rmtree(folder)


def folder_of(address: str) -> Path:
    return Path(address.split(maxsplit=1)[0].removeprefix("host="))


def reason_to_skip() -> str:
    with pytest.raises(pytest.skip.Exception) as skipped, server():
        raise AssertionError("a server was started")
    return str(skipped.value)


@pytest.mark.usefixtures("programs")
def test_a_server_is_outside_of_a_folder_whose_name_is_too_long_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with server() as address:
        folder = folder_of(address)
        assert folder.is_dir()
        assert not folder.is_relative_to(long)
    assert not folder.exists()
    assert list(long.iterdir()) == []


@as_root
@pytest.mark.usefixtures("programs")
def test_a_server_of_root_is_outside_of_a_private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with server() as address:
        assert folder_of(address).owner() == "nobody"
        assert not folder_of(address).is_relative_to(tmp_path)
    monkeypatch.setattr(postgresql_server, "_OTHERS", ())
    assert f"finds no folder to write in among {tmp_path}" in reason_to_skip()
    assert list(tmp_path.iterdir()) == []


@as_root
def test_programs_that_only_root_may_run_are_a_reason_to_skip(programs: Path) -> None:
    (programs / "initdb").chmod(0o700)
    assert f"PostgreSQL, which root runs as 'nobody', may not run {programs / 'initdb'}" in reason_to_skip()


def test_a_machine_without_the_programs_is_told_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_server, "_programs", lambda: None)
    assert reason_to_skip() == HOW_TO_INSTALL
    assert "apt-get install -y postgresql" in HOW_TO_INSTALL


@pytest.mark.usefixtures("programs")
def test_a_user_without_a_name_is_a_reason_to_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert "PostgreSQL needs a user with a name, other than root: getpwuid(): uid not found" in reason_to_skip()


def test_a_server_that_could_start_and_does_not_is_a_failure(programs: Path) -> None:
    (programs / "initdb").write_text("#!/bin/sh\necho broken\nexit 1\n")
    with pytest.raises(AssertionError, match="broken"), server():
        pass
