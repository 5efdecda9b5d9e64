"""What the long runs share, whose cases are numbers: how a case is drawn, played in processes, and killed (``tests.ranks``, ``tests.chaos``)."""
