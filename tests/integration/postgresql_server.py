"""A PostgreSQL server of a test's own: in a folder that is removed with it, on a socket in that folder, for nobody else.

Where a server cannot be, the tests that need it are skipped, and say what is in the way. A server that could be and does
not start is a failure.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

__all__ = ["HOW_TO_INSTALL", "server"]

HOW_TO_INSTALL = "needs PostgreSQL and its driver: apt-get install -y postgresql; pip install 'psycopg[binary]'"
# A server on a machine with other things to do needs seconds to begin and to end.
_LIMIT_S = 60
# The name that the server gives its socket; a socket's whole path is 107 letters at most.
_SOCKET = "/.s.PGSQL.5432"
_LONGEST_PATH = 107
# Where the folder may lie if not in TMPDIR, which may be closed to the server's user, or have a long name.
_OTHERS = ("/tmp", "/var/tmp")


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Starts a server and gives the address of its database; ends the server and removes its folder.

    Raises:
        pytest.skip.Exception: there is none on this machine, or it may not run here; it says why.
    """
    bin_folder = _programs()
    if bin_folder is None:
        pytest.skip(HOW_TO_INSTALL)
    user = _its_user()
    with _folder_for(user, bin_folder) as folder:
        data = folder / "data"
        _run([bin_folder / "initdb", "--username=test", "--auth=trust", "--encoding=UTF8", "--no-sync", data], user)
        control: Sequence[Path | str] = [
            bin_folder / "pg_ctl",
            f"--pgdata={data}",
            f"--log={folder / 'log'}",
            "--wait",
            f"--timeout={_LIMIT_S}",
        ]
        options = f"-c listen_addresses= -c fsync=off -c unix_socket_directories={folder}"
        _run([*control, f"--options={options}", "start"], user)
        try:
            yield f"host={folder} user=test dbname=postgres"
        finally:
            _run([*control, "--mode=immediate", "stop"], user)


def _programs() -> Path | None:
    """The folder with PostgreSQL's programs, the newest where there are several."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(9), reverse=True
    )
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def _its_user() -> pwd.struct_passwd | None:
    """Whom the server runs as, where it is somebody else than who starts it: PostgreSQL refuses to be run by root."""
    try:
        own = pwd.getpwuid(os.geteuid())
        return pwd.getpwnam("nobody") if own.pw_uid == 0 else None
    except KeyError as error:
        pytest.skip(f"PostgreSQL needs a user with a name, other than root: {error.args[0]}")


@contextlib.contextmanager
def _folder_for(user: pwd.struct_passwd | None, bin_folder: Path) -> Iterator[Path]:
    """An empty folder of this user's, in which a server can be."""
    # Not a folder of pytest's: those are closed to other users. And so may be the one for temporary files.
    places = [place for place in dict.fromkeys([tempfile.gettempdir(), *_OTHERS]) if os.access(place, os.W_OK)]
    for place in places:
        folder = Path(tempfile.mkdtemp(prefix="headrace-pg-", dir=place))
        try:
            if user is not None:
                os.chown(folder, user.pw_uid, user.pw_gid)
            if len(f"{folder}{_SOCKET}") <= _LONGEST_PATH and _can_run(user, bin_folder, folder):
                yield folder
                return
        finally:
            shutil.rmtree(folder)
    who = "PostgreSQL" if user is None else f"PostgreSQL, which root runs as {user.pw_name!r},"
    pytest.skip(f"{who} may not run {bin_folder / 'initdb'}, or finds no folder to write in among {', '.join(places)}")


def _can_run(user: pwd.struct_passwd | None, bin_folder: Path, folder: Path) -> bool:
    """Whether this user may start the programs, and write into the folder: a folder above may be closed to it."""
    command: Sequence[Path | str] = [
        "/bin/sh",
        "-c",
        'test -x "$1/initdb" && cd "$2" && test -w .',
        "sh",
        bin_folder,
        folder,
    ]
    return _started(command, user, subprocess.DEVNULL) == 0


def _run(command: Sequence[Path | str], user: pwd.struct_passwd | None) -> None:
    # Into a file: the server inherits what it is given, and a pipe would not end before it.
    with tempfile.TemporaryFile() as output:
        status = _started(command, user, output.fileno())
        output.seek(0)
        assert status == 0, output.read().decode(errors="replace")


def _started(command: Sequence[Path | str], user: pwd.struct_passwd | None, output: int) -> int:
    """The exit status of a command that this user started."""
    return subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        timeout=2 * _LIMIT_S,
        cwd="/",
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
    ).returncode
