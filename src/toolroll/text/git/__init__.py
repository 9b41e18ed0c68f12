"""Git without I/O: plans of commands, and parsers of what they print. Front: `plans.make_plan`."""
