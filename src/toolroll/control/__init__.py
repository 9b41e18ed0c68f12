"""What a running process shows of its kit, and what a person may do to it from outside."""
