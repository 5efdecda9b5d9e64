"""``headrace ranks``: whether a plan gives the same global batches on any number of ranks."""
