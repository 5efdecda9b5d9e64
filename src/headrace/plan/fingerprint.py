"""Which plan a saved state belongs to.

Two plans have one fingerprint when the same operations with the same parameters stand in the same order.
What only makes a plan faster (parallelism, prefetching, options) is left out: a state moves to another number
of workers. A function counts by its name, not by its code, so that a job with a mended function can resume. What may change on
purpose stands in ``changes``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.changes import facts_of, needed_words
from headrace.plan.node import Node, nodes_of

__all__ = ["Changed", "Fingerprint", "fingerprint_of"]

_SILENT = (Prefetch, WithOptions)


# A node that differs from that of the state, and the words by which it is allowed to.
Changed = tuple[Node, frozenset[str]]


@frozen
class Fingerprint:
    """A plan's identity: a digest of the whole, and one for each node, sources first.

    Attributes:
        digest: of the whole.
        nodes: what each node is, in words, and its digest.
        plan: the plan itself.
    """

    digest: str
    nodes: tuple[tuple[str, str], ...]
    plan: Node = dataclasses.field(compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the fingerprint as plain data; of what may change on purpose with what tells how it does."""
        return {"digest": self.digest, "nodes": self.plan.recall("fingerprint", self._told)}

    def _told(self) -> list[list[Any]]:
        told = zip(self.nodes, map(facts_of, _counted(self.plan)), strict=True)
        return [[*node, *([] if facts is None else [facts])] for node, facts in told]

    def check(self, saved: dict[str, Any], allowed: frozenset[str] = frozenset()) -> list[Changed]:
        """Refuses a state that another plan saved, and returns what differs where that is allowed.

        Raises:
            InvalidArgumentError: the plans differ; names the first node that does, and the words that would allow it.
        """
        if saved["digest"] == self.digest:
            return []
        theirs = [(node[0], node[1]) for node in saved["nodes"]]
        changed: list[Changed] = []
        for number, (node, mine, other) in enumerate(
            zip(_counted(self.plan), self.nodes, saved["nodes"], strict=False)
        ):
            if mine != (other[0], other[1]):
                changed.append((node, self._checked(number, node, other, allowed)))
        if len(theirs) != len(self.nodes):
            longer, place = ("saved", theirs) if len(theirs) > len(self.nodes) else ("present", list(self.nodes))
            extra = place[min(len(theirs), len(self.nodes))]
            raise InvalidArgumentError(f"the state belongs to another plan: only the {longer} one has {extra[0]}")
        if _digest_of(theirs, self.plan) != saved["digest"]:
            raise InvalidArgumentError("the state belongs to another plan: its operations read one another otherwise")
        return changed

    def _checked(self, number: int, node: Node, other: list[Any], allowed: frozenset[str]) -> frozenset[str]:
        """Returns the words by which a node differs, all of which are allowed."""
        words = needed_words(node, other[2]) if len(other) > 2 else None
        if words is not None and words <= allowed:
            return words
        message = (
            f"the state belongs to another plan: its node {number} is {other[0]}, this plan has {self.nodes[number][0]}"
        )
        if words is not None:
            asked = ", ".join(map(repr, sorted(words | allowed)))
            message += f". Where that is on purpose: load_state_dict(state, allow={{{asked}}})"
        elif "grown" in allowed and node.op == "shuffle":
            message += (
                ". Its order was drawn for a buffer of the old size, whatever has grown: give the old buffer_size"
            )
        elif node.deals and other[0].startswith(node.op):
            message += (
                ". The state has a position for each stream: give num_streams= as it was, and another global batch, a multiple of it, "
                "with load_state_dict(state, allow={'batch_size'})"
            )
        raise InvalidArgumentError(message)


def _counted(plan: Node) -> Iterator[Node]:
    return (node for node in nodes_of(plan) if not isinstance(node, _SILENT))


def fingerprint_of(plan: Node) -> Fingerprint:
    """Returns the identity of a plan."""
    nodes = tuple(map(_describe, _counted(plan)))
    return Fingerprint(_digest_of(nodes, plan), nodes, plan)


def _digest_of(nodes: Sequence[tuple[str, str]], plan: Node) -> str:
    return hashlib.sha256(f"[{json.dumps(nodes)}, {_shape(plan)}]".encode()).hexdigest()[:16]


def _describe(node: Node) -> tuple[str, str]:
    kept = {name: value for name, value in node.parameters().items() if name not in node.tuning}
    text = json.dumps(kept, sort_keys=True, default=str)
    short = ", ".join(f"{name}={_abridged(value)}" for name, value in kept.items() if value is not None)
    title = node.label.partition(" ")[0]
    return f"{title}({short})", hashlib.sha256(f"{title}{text}".encode()).hexdigest()[:12]


def _abridged(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _shape(plan: Node) -> str:
    """Returns how the nodes hang together, as JSON: the listing alone cannot tell zip(a, b) from concatenations of them."""
    written: list[str] = []
    waiting: list[Node | str] = [plan]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            written.append(node)
        elif isinstance(node, _SILENT):
            waiting.append(node.input)
        else:
            written.append(f"[{len(node.inputs)}, [")
            waiting.append("]]")
            for number, child in reversed(list(enumerate(node.inputs))):
                waiting += (child, ", ") if number else (child,)
    return "".join(written)
