"""Programs that only read: rows of options, and the checks behind them."""
