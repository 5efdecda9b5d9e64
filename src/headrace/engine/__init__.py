"""Wiring only: a plan, its options and a state become stages that can be pulled, stopped and closed."""

from headrace.engine.calling_run import CallingRun
from headrace.engine.choosing import may_hang
from headrace.engine.inside import InnerPlan, is_inside_run
from headrace.engine.plans import physical_plan, unoptimised_plan
from headrace.engine.run import Run
from headrace.engine.small_run import SmallRun, all_elements

__all__ = [
    "CallingRun",
    "InnerPlan",
    "Run",
    "SmallRun",
    "all_elements",
    "is_inside_run",
    "may_hang",
    "physical_plan",
    "unoptimised_plan",
]
