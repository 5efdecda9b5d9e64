"""One run of a dataset, as its user sees it."""

from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.element_iterator import ElementIterator
from headrace.iterator.joint_end import joint_end_of

__all__ = ["DatasetIterator", "ElementIterator", "joint_end_of"]
