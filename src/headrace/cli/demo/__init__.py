"""``headrace demo``: one training job on real CSV files, fed in several ways, timed side by side.

The parts, from the bottom up: ``data`` makes the files and ``csv_folder`` says what is there; ``naive`` and ``ways``
turn them into batches; ``models``, the two ``model_*`` and ``frameworks`` learn from a batch; ``training`` times one way;
``summary`` condenses what was timed; ``progress``, ``table``, ``report`` and ``document`` show it;
``command`` is the command line.
"""
