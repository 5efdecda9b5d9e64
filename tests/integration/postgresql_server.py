"""A PostgreSQL server of a test's own: in a folder that is removed with it, on a socket in that folder, for nobody else."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["HOW_TO_INSTALL", "programs", "server"]

HOW_TO_INSTALL = "needs PostgreSQL and its driver: apt-get install -y postgresql; pip install 'psycopg[binary]'"
# A server on a machine with other things to do needs seconds to begin and to end.
_LIMIT_S = 60


def programs() -> Path | None:
    """The folder with PostgreSQL's programs, the newest where there are several."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(9), reverse=True
    )
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


@contextlib.contextmanager
def server(bin_folder: Path) -> Iterator[str]:
    """Starts a server and gives the address of its database; ends the server."""
    # Not a folder of pytest's: those are closed to other users, and the path of a socket is 107 letters at most.
    folder = Path(tempfile.mkdtemp(prefix="headrace-pg-"))
    try:
        user = _some_user(folder)
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
    finally:
        shutil.rmtree(folder)


def _some_user(folder: Path) -> str | None:
    """PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    owner = pwd.getpwnam("nobody")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return owner.pw_name


def _run(command: Sequence[Path | str], user: str | None) -> None:
    # Into a file: the server inherits what it is given, and a pipe would not end before it.
    with tempfile.TemporaryFile() as output:
        ended = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=2 * _LIMIT_S,
            cwd="/",
            user=user,
            group=None if user is None else pwd.getpwnam(user).pw_gid,
            extra_groups=None if user is None else [],
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        )
        output.seek(0)
        assert ended.returncode == 0, output.read().decode(errors="replace")
