"""What a line of shell would run: read, never executed. `toolroll.policy.commands` is the front."""
