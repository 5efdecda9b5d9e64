"""A JSON document a line, as columns wherever the lines allow it."""
