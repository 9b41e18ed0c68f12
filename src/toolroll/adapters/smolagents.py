"""smolagents: `ToolCallingAgent(tools=tools(kit), step_callbacks=[show_images], model=...)`, or `CodeAgent`.

smolagents has no approval of its own: `Kit(approve=...)` is asked.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Self

from toolroll.host.requirement import require

require("smolagents", "smolagents>=1.26,<2")

from PIL import Image as PilImage
from smolagents import ActionStep, Tool

from toolroll.formats import wire_text
from toolroll.kit import Kit
from toolroll.result import Image, ToolError


class WholeData(dict[str, Any]):
    """The whole data of a result, for the code of a `CodeAgent`; printed, the text that a model is shown."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        super().__init__(data)
        self.text = text

    def __str__(self) -> str:
        return self.text


class WholeText(str):
    """The whole text of a result that has no other data; printed, what a model is shown of it."""

    shown: str

    def __new__(cls, whole: str, text: str) -> Self:
        made = super().__new__(cls, whole)
        made.shown = text
        return made

    def __str__(self) -> str:
        return self.shown


class SmolagentsTool(Tool):
    """One tool of a kit. It returns data that prints as text; images wait for `show_images`. An error is raised."""

    skip_forward_signature_validation = True
    output_type = "any"

    def __init__(self, kit: Kit, definition: dict[str, Any]) -> None:
        super().__init__()
        self.kit = kit
        self.name, self.description = definition["name"], definition["description"]
        schema = definition["parameters"]
        required = schema.get("required", ())
        self.inputs = {name: _input(one, name in required) for name, one in schema["properties"].items()}
        self.images: list[Image] = []

    def forward(self, **arguments: Any) -> Any:
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self.kit.call(self.name, given, whole=True)
        self.images.extend(result.images)
        if result.error is not None:
            raise ToolError(result.error.code, wire_text(result))
        text = wire_text(result)
        data = result.data
        return (
            WholeData(data, text)
            if isinstance(data, dict)
            else WholeText(data, text)
            if isinstance(data, str)
            else data
        )


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
