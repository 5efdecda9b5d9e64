"""What an element is: a nested structure of leaves, what is known of it before it is there, and whose its memory is.

From the bottom up: ``leaf_arrays`` makes arrays of leaves; ``record_classes`` takes dataclasses and attrs classes for structure;
``tensor_spec`` says a leaf's shape and dtype; ``structure`` flattens and normalises an element; ``row_building`` and
``rows_and_columns`` turn many elements into arrays and back; ``leaf_specs`` tells specs from elements; ``ragged`` holds rows of
different lengths; ``ownership`` says who may change what, and ``function_results`` what a function gave and may still hold.
"""
