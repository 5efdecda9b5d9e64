"""Elements of any structure in files of our own: what caches, ``save`` and ``snapshot`` write."""
