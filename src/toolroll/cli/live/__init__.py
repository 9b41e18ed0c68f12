"""Commands about processes that run: see what they do, and answer them."""
