"""Datasets of what files hold, one module a format."""
