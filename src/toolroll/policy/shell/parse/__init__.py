"""Shell text taken apart into the commands that it would run. `analysis` is the front."""
