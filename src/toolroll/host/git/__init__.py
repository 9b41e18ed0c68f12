"""Run git in the repository of a call, with settings that run no other program.

Front: `repository.Repository`. Imports `host.shell`, `host.files` and `text.git`, which plans and parses.
"""
