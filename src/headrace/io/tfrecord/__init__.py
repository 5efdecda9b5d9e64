"""TFRecord files, read and written."""
