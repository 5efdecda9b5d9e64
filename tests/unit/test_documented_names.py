"""What the documentation of the code names is there: no docstring and no design page goes on about what was renamed."""

from __future__ import annotations

import ast
import builtins
import functools
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "headrace"
# Other libraries' names, which no code of ours has, and words of examples.
OF_OTHERS = {
    "Coordinator", "DataLoader", "In", "Na", "QueueRunner", "S", "StatefulDataLoader", "TrainState", "acceptable_fraction",
    "cfg", "compat", "dcp", "f", "id", "jit", "matching_files", "parquet", "png", "seg", "sub", "thrift", "user", "v1",
}  # fmt: skip
# Words that end as a verb does.
NO_VERBS = {
    "As",
    "Its",
    "This",
    "Those",
    "These",
    "Whether",
    "Others",
    "Rows",
    "Elements",
    "Numbers",
    "Sequences",
    "Always",
}


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package, by its path; each process that runs tests reads this file, few of them these."""
    return {
        path.relative_to(SOURCE).with_suffix("").as_posix().removesuffix("/__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def docstrings() -> Iterator[tuple[str, str]]:
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node, clean=False)
                if text is not None:
                    yield f"{name}: {getattr(node, 'name', 'the module')}", text


def words_of(tree: ast.Module) -> Iterator[str]:
    """Every name that the code of a module has, docstrings and comments aside."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                yield word
            case ast.ClassDef(name=word) | ast.FunctionDef(name=word) | ast.AsyncFunctionDef(name=word):
                yield word
            case ast.keyword(arg=str(word)):
                yield word
            case ast.alias(name=word, asname=other):
                yield from (*word.split("."), other or word)
            case ast.Constant(value=str(text)) if "``" not in text:
                yield from re.findall(r"\w+", text)
            case _:
                pass


def known_words() -> set[str]:
    known = {*dir(builtins), *keyword.kwlist, *sys.stdlib_module_names, *OF_OTHERS, "py"}
    for name, tree in modules().items():
        known.update(name.split("/"), words_of(tree))
    return known


def is_there(dotted: str) -> bool:
    """Whether a dotted name is a module, by its last parts, or a name in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        module = "/".join(parts[:length])
        found = [tree for name, tree in modules().items() if f"/{name}".endswith(f"/{module}")]
        if found:
            return all(any(part in set(words_of(tree)) for tree in found) for part in parts[length:])
    return False


def test_every_name_in_backticks_in_a_docstring_is_one_that_the_code_has() -> None:
    known = known_words()
    unknown = [
        f"{where}: ``{name}``"
        for where, text in docstrings()
        for name in re.findall(r"``([A-Za-z_][\w./]*)(?:\(\))?``", text)
        if not set(re.findall(r"[A-Za-z_]\w*", name)) <= known
    ]
    assert unknown == []


def test_every_module_in_backticks_in_a_docstring_is_there() -> None:
    packages = {name.rpartition("/")[2] for name in modules() if (SOURCE / name).is_dir()}
    missing = []
    for where, text in docstrings():
        for name in re.findall(r"``([a-z_][\w./]*)``", text):
            first, *rest = name.removesuffix(".py").replace("/", ".").split(".")
            if (rest and first in packages) or name.endswith(".py"):
                dotted = ".".join([first, *rest])
                if not is_there(dotted):
                    missing.append(f"{where}: ``{name}``")
    assert missing == []


def test_the_docstring_of_a_function_begins_with_its_verb_in_the_third_person() -> None:
    others = []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            is_property = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
            verb = (ast.get_docstring(node) or "Has none").split()[0]
            if not is_property and (not re.fullmatch(r"[A-Z][a-z]+s,?", verb) or verb in NO_VERBS):
                others.append(f"{name}: {node.name}: {ast.get_docstring(node)!r:.80}")
    assert others == []


def test_every_folder_and_module_that_the_design_names_is_there() -> None:
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)`", text) if "/" in name or name.endswith(".py")}
    assert "tests/laws/" in named
    places = [(ROOT / name, PACKAGE / name, PACKAGE / f"{name}.py") for name in sorted(named)]
    missing = [name for name, found in zip(sorted(named), places, strict=True) if not any(p.exists() for p in found)]
    assert missing == []


def test_the_layers_of_the_design_are_those_that_the_machine_enforces() -> None:
    layers = (ROOT / ".importlinter").read_text(encoding="utf-8").partition("layers =\n")[2].partition("\n\n")[0]
    enforced = [line.strip().strip("()") for line in layers.splitlines() if not line.startswith(";")]
    table = (ROOT / "docs/design.md").read_text(encoding="utf-8").partition("| layer | what it holds |")[2]
    told = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n")[0], re.MULTILINE)
    there = {name.split("/")[1] for name in modules() if "/" in name}
    assert [name for name in told if name in there] == [
        name for name in enforced if name in there and name != "__main__"
    ]
