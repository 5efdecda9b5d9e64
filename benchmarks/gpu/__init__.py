"""The documents' training jobs, and feeding alone, on a GPU.

    make gpu                                   where PyTorch sees a GPU
    python benchmarks/gpu --seconds 4          with the Python that is installed

jobs.py         the three jobs: their networks, and their input in four forms
training.py     trains on one of the forms, and tells how busy the GPU was
feeding.py      batches of some megabytes to the GPU, by headrace and by torch's DataLoader
command.py      the command line: prints tables in Markdown
"""
