"""What of a plan may differ from that of a saved state on purpose: which parameter, and by which word it is allowed.

A fingerprint knows a node by a digest of its parameters, which cannot tell what differs. So the nodes here say a little more in a
state: a digest of everything but the parameter that may change, and what is needed to see how it changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from headrace.errors import InvalidArgumentError
from headrace.plan.node import Node

__all__ = ["WORDS", "checked_words", "facts_of", "needed_words"]

# What load_state_dict(allow=) takes.
WORDS: Final = ("weights", "paths", "batch_size", "grown")

# What a state says of a node beside its digest.
Facts = dict[str, Any]


def checked_words(allow: Collection[str]) -> frozenset[str]:
    """Returns the words of ``load_state_dict(allow=)``.

    Raises:
        InvalidArgumentError: there is no such word.
    """
    words = frozenset(allow) if not isinstance(allow, str) else frozenset((allow,))
    unknown = sorted(words.difference(WORDS), key=str)
    if unknown:
        known = ", ".join(map(repr, WORDS))
        raise InvalidArgumentError(f"allow takes a set of {known}, not {', '.join(map(repr, unknown))}")
    return words


def facts_of(node: Node) -> Facts | None:
    """Returns what a state says of a node of which something may change; None of any other."""
    # Every state has it, and of many files it takes long.
    return node.recall("what may change", lambda: _facts_of(node))


def _facts_of(node: Node) -> Facts | None:
    kept = node.parameters()
    changing = kept.pop(node.changeable, None) if node.changeable is not None else None
    if changing is None:
        return None
    rest = {name: value for name, value in kept.items() if name not in node.tuning}
    facts = {"rest": _digest([node.label.partition(" ")[0], rest])}
    match node.changeable:
        case "length" | "stop":
            return {**facts, "end": changing}
        case "paths":
            return {**facts, **_facts_of_files(changing)}
    return facts


def _facts_of_files(paths: Sequence[str]) -> Facts:
    return {"count": len(paths), "paths": _digest(list(paths)), "names": _digest(_names(paths))}


def _digest(plain: Any) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()[:12]


def _names(paths: Sequence[str]) -> list[str]:
    """Returns the paths below the last folder that they have in common."""
    parts = [path.replace("\\", "/").split("/") for path in paths]
    shared = 0
    for level in zip(*(folders[:-1] for folders in parts), strict=False):
        if len(set(level)) > 1:
            break
        shared += 1
    return ["/".join(folders[shared:]) for folders in parts]


def needed_words(node: Node, saved: Facts) -> frozenset[str] | None:
    """Returns by which words a state may be loaded whose node differs from this one; None where no word would do."""
    facts = facts_of(node)
    if facts is None or facts["rest"] != saved["rest"] or facts.keys() != saved.keys():
        return None
    match node.changeable:
        case "weights":
            return frozenset({"weights"})
        case "batch_size" | "global_batch_size":
            return frozenset({"batch_size"})
        case "length" | "stop":
            further = facts["end"] - saved["end"]
            has_grown = further * node.parameters().get("step", 1) > 0
            return frozenset({"grown"}) if has_grown else None
    return _words_of_files(node.parameters()["paths"], saved)


def _words_of_files(paths: Sequence[str], saved: Facts) -> frozenset[str] | None:
    """Returns by which words other files will do: the same names below another root, and more files after them."""
    first = _facts_of_files(paths[: saved["count"]])
    words = {"grown"} if len(paths) > saved["count"] else set()
    if first["paths"] != saved["paths"]:
        words.add("paths")
    is_same = first["count"] == saved["count"] and first["names"] == saved["names"]
    return frozenset(words) if is_same else None
