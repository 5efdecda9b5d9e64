"""The program that runs in a process beside the trainer, as ``python -m headrace.worker``."""
