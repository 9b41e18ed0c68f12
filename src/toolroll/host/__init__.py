"""The only part that touches the world; every door is guarded."""
