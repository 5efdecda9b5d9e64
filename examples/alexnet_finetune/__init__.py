"""Fine-tuning AlexNet on list files of images, and what the input pipeline has to do with how long it takes.

    make alexnet                                    # sets everything up, makes images, times, trains, draws
    python -m examples.alexnet_finetune --help      # where headrace[image,report,torch] is installed

The parts, from the bottom up: ``image_lists`` reads what is to be learned and ``made_images`` makes some; ``data_generator``
turns a list into batches; ``alexnet`` is the network (of ``pytorch``) and ``weights`` fills it from a file; ``training`` makes a trainer of
it; ``timing`` compares the sequential with the parallel pipeline, ``table`` and ``box_plot`` show it; ``fine_tuning`` is the
training job; ``command`` is the command line.
"""
