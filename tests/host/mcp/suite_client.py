"""The client that the official suite is run against: our own, told by the suite which scenario it is in."""

import json
import os
import sys
import tempfile

from toolroll import Kit

CALLS = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls", [])
STATELESS = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28"
VALUES = {"string": "x", "number": 2, "integer": 3, "boolean": True, "object": {}, "array": []}


def calls(row: dict, rows: list[dict]) -> list[dict]:
    """The arguments to call a tool with, once for each call."""
    if row["name"] == "json_schema_echo":
        return [{"schema": one["parameters"]} for one in rows if one["name"] == "json_schema_2020_12_tool"]
    wanted = row.get("parameters", {}).get("properties", {})
    told = [one["arguments"] for one in CALLS if one["name"] == row["name"]]
    return told or [{name: VALUES[kind["type"]] for name, kind in wanted.items() if kind.get("type") in VALUES}]


def main() -> int:
    entry = {"url": sys.argv[-1], "protocol": "stateless" if STATELESS else "auto"}
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/ws")
        with Kit(f"{folder}/ws", state_dir=f"{folder}/state", mcp={"suite": entry}) as kit:
            listed = kit.call("mcp", {"action": "list_tools"})
            print(listed.text)
            rows = listed.data["structured"] if listed.ok else []
            for row in rows:
                for arguments in calls(row, rows):
                    given = {"action": "call_tool", "name": row["name"], "arguments": arguments}
                    print(kit.call("mcp", given).text)
            for action, of, other in (
                ("list_resources", "read_resource", "uri"),
                ("list_prompts", "get_prompt", "name"),
            ):
                for row in (kit.call("mcp", {"action": action}).data or {"structured": ()})["structured"]:
                    kit.call("mcp", {"action": of, other: row.get(other, "")})
    return 0 if listed.ok else 1


if __name__ == "__main__":
    sys.exit(main())
