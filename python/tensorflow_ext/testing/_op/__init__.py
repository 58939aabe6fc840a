"""check_op: checks an op in every client, type and mode."""
