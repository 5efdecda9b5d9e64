"""The formats that ``Files`` reads, one module each: how a file of it is opened, and what its records are."""
