"""Web search engines, one module each: how each is asked and how its answer is read. `engine.load_engines` has all."""
