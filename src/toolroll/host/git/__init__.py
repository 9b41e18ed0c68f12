"""The git repository that a call works on."""
