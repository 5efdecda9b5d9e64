"""What functions log in other processes: it comes to the program's handlers as from its threads, and a mistake in it costs no element."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

import headrace as hr

Way = Callable[[hr.Dataset, Callable[[int], int]], hr.Dataset]
WAYS: dict[str, Way] = {
    "inline": lambda dataset, function: dataset.map(function).with_options(hr.Options(executor="inline")),
    "process": lambda dataset, function: dataset.map(function, num_parallel_calls=1, executor="process"),
    "subprocess": lambda dataset, function: dataset.map(function).with_options(hr.Options(executor="subprocess")),
}
LOGGERS = ("", "tests.a", "tests.a.b")
# Of the root, of a logger, and of one below it: in one epoch after the other.
LEVELS = [
    (logging.WARNING, logging.DEBUG, logging.NOTSET),
    (logging.ERROR, logging.NOTSET, logging.INFO),
    (logging.NOTSET, logging.WARNING, logging.NOTSET),
]


class Wordless:
    """A value of which no text can be made."""

    def __repr__(self) -> str:
        raise RuntimeError("it has no words")


def logs_by_mistake(x: int) -> int:
    log = logging.getLogger("tests.mistaken")
    if x == 1:
        log.warning("a number: %d", "no number")
    if x == 2:
        log.warning("too many: %s", *range(2))
    if x == 3:
        log.warning("a value: %s", Wordless())
    return x


@pytest.mark.parametrize("way", WAYS)
def test_a_mistake_in_what_is_logged_costs_no_element(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a program that runs: pytest's own handlers raise.
    for handler in logging.getLogger().handlers:
        monkeypatch.setattr(handler, "handleError", lambda _: None)
    assert list(WAYS[way](hr.Dataset.range(6), logs_by_mistake)) == list(range(6))


def logs_at_each_level(x: int) -> int:
    for name in LOGGERS:
        for level in (5, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logging.getLogger(name).log(level, "element %d", x)
    if x == 1:
        logging.getLogger("tests.end").critical("all of it")
    return x


@pytest.mark.parametrize("way", ["process", "subprocess"])
def test_the_same_is_logged_as_in_the_program_whatever_levels_its_loggers_have(way: str) -> None:
    dataset = hr.Dataset.range(2)
    elsewhere, here = (WAYS[one](dataset, logs_at_each_level) for one in (way, "inline"))
    try:
        for levels in LEVELS:
            for name, level in zip(LOGGERS, levels, strict=True):
                logging.getLogger(name).setLevel(level)
            assert logged_by(elsewhere) == logged_by(here)
    finally:
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.NOTSET if name else logging.WARNING)


class Kept(logging.Handler):
    """Keeps what functions log, until they have logged all."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[str, int, str]] = []
        self.is_whole = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "tests.end":
            self.is_whole.set()
        elif not record.name.startswith("headrace"):
            self.records.append((record.name, record.levelno, record.getMessage()))


def logged_by(dataset: hr.Dataset) -> list[tuple[str, int, str]]:
    kept = Kept()
    logging.getLogger().addHandler(kept)
    try:
        list(dataset)
        assert kept.is_whole.wait(timeout=60)  # a process's log comes beside its elements
    finally:
        logging.getLogger().removeHandler(kept)
    return kept.records
