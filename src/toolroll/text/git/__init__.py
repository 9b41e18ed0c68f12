"""What git prints, taken apart, and what is asked of it."""
