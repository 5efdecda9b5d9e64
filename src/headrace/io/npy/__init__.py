"""NumPy's own files, mapped into memory."""
