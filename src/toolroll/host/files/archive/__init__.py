"""A workspace as a tar archive, to move it elsewhere. Fronts: `pack.pack`, `unpack.unpack`. By `tarfile`."""
