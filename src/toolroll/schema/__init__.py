"""A Python signature as plain JSON Schema, and arguments checked against the schema the model saw."""

from toolroll.schema.check import Checker
from toolroll.schema.signature import Field, FilePath, Parameter, object_schema, parameters_of

__all__ = ["Checker", "Field", "FilePath", "Parameter", "object_schema", "parameters_of"]
