"""A pipeline run on trial: with its consumer, alone, and the consumer on elements that are there already."""

from headrace.profiling.profile import Advice, Profile, Verdict

__all__ = ["Advice", "Profile", "Verdict"]
