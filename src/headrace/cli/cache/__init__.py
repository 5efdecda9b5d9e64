"""``headrace cache``: what lies in a folder of caches."""
