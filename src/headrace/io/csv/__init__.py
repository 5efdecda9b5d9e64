"""Comma-separated values: fields, their numbers and texts, and the records of files."""
