"""What a git command would do, told from its words alone: read, change, destroy, or run other programs."""

from toolroll.policy.git.rules import DESTRUCTIVE, FOREIGN, Rule
from toolroll.policy.git.values import check_value
from toolroll.policy.git.verdict import judge

__all__ = ["DESTRUCTIVE", "FOREIGN", "Rule", "check_value", "judge"]
