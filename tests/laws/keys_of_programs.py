"""Runs programs and prints, for each, its key and its elements as JSON. Its input is a list of ``[folder, source or null]``.

A program that is given as a source has no file: as in a notebook, at the prompt, or from standard input.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types

import headrace as hr
from headrace.errors import HeadraceError


def run(folder: str, source: str | None) -> list[str]:
    """The key of the program's dataset, or the error for it, and its elements."""
    os.chdir(folder)
    before = set(sys.modules)
    main = sys.modules["__main__"]
    sys.path.insert(0, folder)
    try:
        if source is None:
            module = importlib.import_module("program")
        else:
            module = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(source, "<stdin>", "exec"), module.__dict__)
        dataset = module.ds
        try:
            key = hr.fingerprint(dataset)
        except HeadraceError as error:
            key = f"refused: {error}"
        except Exception as error:
            key = f"raw: {type(error).__name__}: {error}"
        return [key, repr(list(dataset.with_options(hr.Options(executor="inline"))))]
    finally:
        sys.path.remove(folder)
        sys.modules["__main__"] = main
        for name in set(sys.modules) - before:
            if name in ("program", "cfg", "pkg", "pkg.sub"):
                del sys.modules[name]


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    print(json.dumps([run(folder, source) for folder, source in json.load(sys.stdin)]))  # noqa: T201 - its result
