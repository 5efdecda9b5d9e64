"""The program that runs in a process beside the trainer, a fresh interpreter."""
