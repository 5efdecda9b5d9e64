"""How operations make all elements of a small plan at once, for ``physical.at_once``: the families that have cases, by their names."""
