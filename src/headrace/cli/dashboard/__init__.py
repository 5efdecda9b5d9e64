"""``headrace dashboard``: a live page of the pipelines that run now."""
