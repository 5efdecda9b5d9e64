"""Processes of headrace's own: how they begin and end, what they are told, and the memory that they share."""
