"""The commands of ``headrace``, and how each of them ends.

House rules. Whatever is the user's or the data's fault ends as one line on stderr and a non-zero exit status:
2 when the command line itself is wrong, 1 when what it asked for failed. A traceback means a fault of headrace.
Ctrl-C ends with status 130, as the shell expects; commands clean up in ``finally`` and ``with``, not here.
A character that the encoding of stdout lacks is written as an escape: no work is lost over how it is shown.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper

import typer

from headrace import __version__
from headrace.cli.cache.command import app as cache
from headrace.cli.dashboard.command import dashboard
from headrace.cli.demo.command import demo
from headrace.cli.doctor.command import doctor
from headrace.cli.inspect.command import inspect
from headrace.cli.ranks.command import app as ranks
from headrace.cli.top.command import top
from headrace.errors import HeadraceError, InternalError

__all__ = ["main"]

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="headrace",
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(dashboard)
app.command()(demo)
app.command()(doctor)
app.command()(inspect)
app.command()(top)
app.add_typer(cache, name="cache")
app.add_typer(ranks, name="ranks")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    Args:
        arguments: the words after ``headrace``; those of this process when None.

    Example:
        >>> main(["--version"])  # doctest: +ELLIPSIS
        headrace ...
        0
    """
    command = _command()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Not app(): it would turn every EOFError, and so our OutOfRangeError, into an abort by the user.
        with _any_text(sys.stdout), command.make_context("headrace", words) as context:
            command.invoke(context)
            sys.stdout.flush()
    except typer.Exit as end:
        return end.exit_code
    except KeyboardInterrupt:
        return _failed("interrupted", EXIT_INTERRUPTED)
    except typer.TyperException as error:
        message = error.format_message()  # empty where the help was shown, for want of a command
        return _failed(f"error: {message}", error.exit_code) if message else error.exit_code
    except InternalError:
        raise
    except HeadraceError as error:
        return _failed(f"error: {error}", EXIT_FAILED)
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        return _failed(f"error: {_described(error)}", EXIT_FAILED)
    return 0


@app.callback(invoke_without_command=True)
def _headrace(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and leave."),
) -> None:
    """Carries data to an accelerator so that it never waits."""
    if version:
        typer.echo(f"headrace {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@functools.cache
def _command() -> typer.core.TyperGroup:
    """Reads the signatures of all commands, which takes longer than most of them."""
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)  # there are several
    return command


@contextmanager
def _any_text(stream: object) -> Iterator[None]:
    """Yields the stream, which takes any text meanwhile."""
    if not isinstance(stream, TextIOWrapper) or stream.errors != "strict":
        yield
        return
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        stream.reconfigure(errors="strict")


def _failed(message: str, status: int) -> int:
    # One line, whatever the message was made of.
    print("headrace: " + " ".join(message.split()), file=sys.stderr)
    return status


def _described(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{reason}: {error.filename}" if error.filename is not None else reason


def _reader_left() -> int:
    """Leaves quietly when the reader of a pipe has gone, as ``| head`` does."""
    # Python flushes stdout once more at exit and would complain there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE
