"""Wiring only: a plan, its options and a state become stages that can be pulled, stopped and closed."""

from headrace.engine.choosing import may_hang
from headrace.engine.ending import is_inside_run
from headrace.engine.plans import physical_plan, unoptimised_plan
from headrace.engine.run import Run
from headrace.engine.small_run import SmallRun, all_elements

__all__ = [
    "Run",
    "SmallRun",
    "all_elements",
    "is_inside_run",
    "may_hang",
    "physical_plan",
    "unoptimised_plan",
]
