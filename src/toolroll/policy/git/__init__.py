"""Judge git commands by their words: what reads, changes, destroys, or runs other programs.

Front: `judge`. Imports only `policy.decision`.
"""

from toolroll.policy.git.rules import DESTRUCTIVE, FOREIGN, PUBLISHING, GitRule
from toolroll.policy.git.stakes import GitStake, find_stake
from toolroll.policy.git.values import check_value
from toolroll.policy.git.verdict import find_folder, find_loss, judge

__all__ = [
    "DESTRUCTIVE",
    "FOREIGN",
    "PUBLISHING",
    "GitRule",
    "GitStake",
    "check_value",
    "find_folder",
    "find_loss",
    "find_stake",
    "judge",
]
