"""Confine processes: bubblewrap, or Landlock with seccomp, or nothing if the operator says so by name.

`choose.choose_sandbox` is the front and returns a `runtime.launcher.Sandbox`. Landlock and seccomp are own code: they
must act between a thread's start and the program's, without a helper. May import files and runtime.
"""
