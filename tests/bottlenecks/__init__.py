"""Pipelines with a planted cause of waiting: whether it is named, and whether the first advice keeps what it promises."""
