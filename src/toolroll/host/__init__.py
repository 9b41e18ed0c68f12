"""The engines: the only code that touches the world. Each package is one subject.

`context.Context` gives them to a tool; no engine imports it. A contract in pyproject.toml orders their imports.
"""
