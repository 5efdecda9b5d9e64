"""The records of files by their number."""
