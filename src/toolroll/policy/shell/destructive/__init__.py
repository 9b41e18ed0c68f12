"""What no agent should do to a machine: rows of programs, and the checks behind them."""
