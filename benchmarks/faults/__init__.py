"""headrace and its peers under the same faults: time to go on or to a clear error; what is lost, doubled and left behind."""
