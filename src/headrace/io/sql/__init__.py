"""The rows of a query to any database that has a driver of Python's DB-API."""
