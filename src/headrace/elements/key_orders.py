"""The order of the keys in the dicts of elements, which optree leaves out of a structure: a batch has its first element's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.elements.record_classes import is_record_class, names_of_fields
from headrace.elements.structure import Element, TreeDef, may_refuse, unflatten

__all__ = ["has_same_order", "has_same_structure", "have_keys_in_one_order", "looks_the_same", "orders_of_keys"]


def have_keys_in_one_order(rows: Sequence[Element], orders: Any) -> bool:
    """Returns whether the dicts in all elements have their keys in these orders, those of the first."""
    if orders is None:
        return not any(isinstance(row, (dict, tuple)) or is_record_class(type(row)) for row in _one_of_each_type(rows))
    kinds = set(map(type, rows))
    if kinds == {dict}:
        if len(set(map(tuple, rows))) > 1:
            return False
        keys, inner = orders
        return all(
            have_keys_in_one_order([row[key] for row in rows], one) for key, one in zip(keys, inner, strict=True)
        )
    if kinds == {tuple}:
        if len(set(map(len, rows))) > 1:
            return False
        return all(have_keys_in_one_order(part, one) for part, one in zip(zip(*rows, strict=True), orders, strict=True))
    return all(orders_of_keys(row) == orders for row in rows)


def _one_of_each_type(rows: Sequence[Any]) -> list[Any]:
    return list({type(row): row for row in rows}.values())


def orders_of_keys(element: Element) -> Any:
    """Returns the order of the keys in each dict of an element, which optree leaves out of a structure."""
    kind = type(element)
    if kind is dict:
        return tuple(element), tuple(map(orders_of_keys, element.values()))
    if isinstance(element, tuple):
        return tuple(map(orders_of_keys, element))
    if is_record_class(kind):
        return tuple(orders_of_keys(getattr(element, name, None)) for name in names_of_fields(kind))
    return None


def has_same_structure(one: TreeDef, two: TreeDef) -> bool:
    """Returns whether structures are equal, and the keys of their dicts in one order."""
    return one is two or (one == two and has_same_order(one, two))


def looks_the_same(one: TreeDef, two: TreeDef) -> bool:
    """Returns whether structures are equal, and the keys of their dicts in one order as far as no class's own methods have to tell."""
    return one is two or (one == two and (may_refuse(one) or has_same_order(one, two)))


def has_same_order(one: TreeDef, two: TreeDef) -> bool:
    """Returns whether dicts of equal structures have their keys in one order, which is not compared with these."""
    if one is two or one.is_leaf():
        return True
    if may_refuse(one) or may_refuse(two):
        return False
    leaves = range(one.num_leaves)
    return bool(orders_of_keys(unflatten(one, leaves)) == orders_of_keys(unflatten(two, leaves)))
