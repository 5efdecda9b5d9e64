"""Which of a job's processes this one is, and what they tell each other."""

from headrace.ranks.here import current
from headrace.ranks.rank import Rank

__all__ = ["Rank", "current"]
