"""What comes with Python or a package, and in which version; what is being worked on does not.

What is installed is its name and its version, and is not looked into. Of everything else the code itself counts: files
of one's own, packages that are installed to be edited, notebooks, the prompt, ``python -c``.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import sysconfig
import types
from pathlib import Path, PurePath
from typing import Any, Final

from headrace.known_as import known_name

__all__ = [
    "HEADRACE",
    "code_is_installed",
    "global_name",
    "is_installed_class",
    "is_installed_module",
    "module_of",
    "name_of_class",
    "version_of_package",
]

HEADRACE: Final = "headrace"

_OURS: Final = str(PurePath(__file__).parents[2])  # this package, also where it is worked on
_FOLDERS: Final = tuple(
    f"{folder.rstrip('/')}/"
    for folder in (*dict.fromkeys(map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))), _OURS)
)
_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})
_OF_C: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    str,
    type(None),
)
_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: every class that a class statement made has it


def code_is_installed(file: str) -> bool:
    """Returns whether code of that file comes with Python or a package."""
    return file.startswith(("<frozen ", *_FOLDERS)) or not _PACKAGES.isdisjoint(PurePath(file).parts)


def is_installed_module(name: str | None) -> bool:
    """Returns whether a module, imported or not, comes with Python or a package. Nothing is imported to find out."""
    if name is None:
        return False
    root = name.partition(".")[0]
    if root in (HEADRACE, "builtins"):
        return True
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        return code_is_installed(file)
    if root == "__main__":
        return False
    if root != name and getattr(sys.modules.get(root), "__file__", None):
        return is_installed_module(root)  # part of an extension module
    return _is_found_installed(root)


def _is_found_installed(root: str) -> bool:
    """Returns the same of a package that is not imported, or has no file."""
    if root in sys.builtin_module_names:
        return True
    import importlib.util

    try:
        spec = getattr(sys.modules.get(root), "__spec__", None) or importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    if spec.origin in ("built-in", "frozen"):
        return True
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return bool(places) and all(code_is_installed(f"{place}/") for place in places)


def is_installed_class(kind: type) -> bool:
    """Returns whether a class is one of Python's or a package's, and not one that only says so."""
    if not kind.__flags__ & _HEAP_TYPE:
        return True  # made of C, in a library
    module = module_of(kind)
    if is_installed_module(module):
        return _found(module, kind.__qualname__) is kind or _is_made_of_c(kind)
    # Cython keeps the types of its functions in modules that no file has.
    has_file = getattr(sys.modules.get(module), "__file__", None) is not None
    return module != "__main__" and not has_file and _is_made_of_c(kind)


def _is_made_of_c(kind: type) -> bool:
    return all(isinstance(value, _OF_C) for value in vars(kind).values()) and all(
        map(is_installed_class, kind.__bases__)
    )


def module_of(kind: type) -> str:
    """Returns the module that a class says it is of; empty where it says none."""
    module = vars(kind).get("__module__")
    return module if isinstance(module, str) else ""


def name_of_class(kind: type) -> tuple[str, ...]:
    """Returns what an installed class is called; one of headrace's as it is known, wherever in the package it stands."""
    module = module_of(kind) or "builtins"
    if module.partition(".")[0] == HEADRACE and (known := known_name(kind)) is not None:
        return (known,)
    return f"{module}.{kind.__qualname__}", version_of_package(module)


def global_name(value: Any) -> str | None:
    """Returns where an installed package has this very object; None for what is no such thing."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not is_installed_module(module):
        return None
    if _found(module, name) is not value:
        return None
    known = known_name(value) if module.partition(".")[0] == HEADRACE else None
    return known or f"{module}.{name}"


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        try:
            found = vars(found).get(part)
        except TypeError:  # it has no names
            return None
    return getattr(found, "__func__", found) if isinstance(found, staticmethod | classmethod) else found


@functools.cache
def version_of_package(module: str | None) -> str:
    """Returns the version of the package that a module belongs to: as it was installed, and whether or not it is imported."""
    root = (module or "").partition(".")[0]
    if root in sys.stdlib_module_names:
        return ".".join(map(str, sys.version_info[:3]))
    if root == HEADRACE:
        return str(getattr(sys.modules[HEADRACE], "__version__", ""))
    import importlib.metadata  # a tenth of the time to import headrace

    try:
        return importlib.metadata.version(root)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        pass
    names = importlib.metadata.packages_distributions().get(root, ())  # cv2 is in opencv-python
    versions = [f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names))]
    return ", ".join(versions) or _digest_of_file(root)


def _digest_of_file(root: str) -> str:
    """Returns what stands for the version of a module that nobody installed as a package."""
    file = getattr(sys.modules.get(root), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
