"""Signatures as JSON Schema, and arguments checked against it. Front: `Checker`. Imports only `toolroll.result`."""

from toolroll.schema.check import Checker
from toolroll.schema.signature import Field, FilePath, Parameter, object_schema, parameters_of

__all__ = ["Checker", "Field", "FilePath", "Parameter", "object_schema", "parameters_of"]
