"""What tools changed, kept outside the workspace, so that it can be undone to the byte."""
