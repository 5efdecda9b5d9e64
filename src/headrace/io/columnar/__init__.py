"""Files of columns: Parquet and Arrow, read by pyarrow."""
