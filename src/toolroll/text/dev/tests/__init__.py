"""The results of test runs, from the programs that run tests."""
