"""Programs that run in a project's own interpreter: its standard library, pytest and coverage are all they import."""
