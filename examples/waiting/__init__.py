"""The three jobs of the guide's page "My GPU is at 31 %": each as one writes it first, and as its profile advises.

csv_job.py      rows of CSV files, parsed one by one in Python
alexnet_job.py  JPEG images, decoded one after the other
wav_job.py      WAV files, read and transformed one after the other
gpu.py          what stands in for a GPU: a step that takes time and no core
measuring.py    each job before and after, and what its profile promised
__main__.py     the command line: ``python -m examples.waiting``, or ``make waiting``

Each job can be asked by itself:

    headrace doctor examples.waiting.alexnet_job:naive --step examples.waiting.alexnet_job:step
"""
