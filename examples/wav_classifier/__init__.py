"""A classifier of sounds, fed in two ways: ``python -m examples.wav_classifier``, or ``make wav``.

sounds.py      makes WAV files, where you name no folder of your own
recordings.py  a folder of sounds: which files, of which kinds, for what
input_fns.py   the input in its first form, and in its improved form
classifier.py  a small network
job.py         one invocation of the training job, and what its steps waited for
picture.py     the table and the chart
__main__.py    the command line
"""
