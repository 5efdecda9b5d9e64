"""One run of a dataset, as its user sees it."""

from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.joint_end import joint_end_of

__all__ = ["DatasetIterator", "joint_end_of"]
