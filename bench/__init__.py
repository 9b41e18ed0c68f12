"""Measures toolroll beside its peers, in the same run and on the same interpreter: `make bench`."""
