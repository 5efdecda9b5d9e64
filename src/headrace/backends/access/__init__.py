"""One element of a plan by its index, without those before it: ``dataset[i]``.

What always holds: ``at(i)`` of a plan's access is what the i-th call of the reference's first epoch gives, and computes what
that element needs and nothing else. A plan has an access where each operation can say, from indices alone, which of its
input's elements make its i-th; any other operation is refused by name. An element that fails raises its error each time,
and those after it have the indices that they would have without it.

One case a node, in the modules beside this one, a family of operations each.
"""

from headrace.backends.access import buffering, combining, elementwise, grouping, sequencing, shuffling, sources
from headrace.backends.access.dispatch import Access, access_of
from headrace.backends.access.opening import element_access

__all__ = [
    "Access",
    "access_of",
    "buffering",
    "combining",
    "element_access",
    "elementwise",
    "grouping",
    "sequencing",
    "shuffling",
    "sources",
]
