"""A training job that loses a process and goes on with 6, 12 and 1: ``python -m examples.elastic``, or ``make elastic``.

documents.py     makes the sources: CSV, TFRecord and tar files
pipeline.py      the input: three sources mixed, filtered, shuffled, packed, and dealt to the ranks
model.py         a small language model
saves.py         what a rank saves after each step, and how a job goes on from what all ranks saved
worker.py        what one process of the job does
parent_watch.py  ends a process with the one that started it
job.py           the processes of a job: started, watched, killed, and none left behind
story.py         the whole run, and what came of it
progress.py      how it is watched
picture.py       who read what when
page.py          the page
peers.py         what others do when they are asked for the same
__main__.py      the command line
"""
