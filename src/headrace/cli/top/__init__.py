"""``headrace top``: the pipelines that run now."""
