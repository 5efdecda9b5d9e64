"""The works of the benchmarks, one file each."""
