"""Commands that let models work: an agent, a swarm, and what the terminal shows of them."""
