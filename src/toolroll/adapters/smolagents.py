"""smolagents: `ToolCallingAgent(tools=tools(kit), step_callbacks=[show_images], model=...)`.

smolagents has no approval of its own: `Kit(approve=...)` is asked.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from toolroll.host.requirement import require

require("smolagents", "smolagents>=1.26,<2")

from PIL import Image as PilImage
from smolagents import ActionStep, Tool

from toolroll.formats import wire_text
from toolroll.kit import Kit
from toolroll.result import Image, ToolError


class SmolagentsTool(Tool):
    """One tool of a kit. It returns text; images wait for `show_images`. An error is raised."""

    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, kit: Kit, definition: dict[str, Any]) -> None:
        super().__init__()
        self.kit = kit
        self.name, self.description = definition["name"], definition["description"]
        schema = definition["parameters"]
        required = schema.get("required", ())
        self.inputs = {name: _input(one, name in required) for name, one in schema["properties"].items()}
        self.images: list[Image] = []

    def forward(self, **arguments: Any) -> str:
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self.kit.call(self.name, given)
        self.images.extend(result.images)
        if result.error is not None:
            raise ToolError(result.error.code, wire_text(result))
        return wire_text(result)


def tools(kit: Kit) -> list[SmolagentsTool]:
    """Every tool that the kit shows to a model."""
    return [SmolagentsTool(kit, one["function"]) for one in kit.definitions("openai")]


def show_images(step: ActionStep, agent: Any) -> None:
    """A callback for `step_callbacks`: show the model the images that tools have read in this step."""
    found: list[Image] = []
    for tool in agent.tools.values():
        if isinstance(tool, SmolagentsTool):
            found += tool.images
            tool.images = []
    if found:
        step.observations_images = [PilImage.open(BytesIO(one.data)) for one in found]


def _input(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """A parameter as smolagents describes it: each has a type and a description, an optional one is nullable."""
    optional = {} if required else {"nullable": True}
    return {"type": "any", "description": "", **schema, **optional}
