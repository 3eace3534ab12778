"""Results -> figures with their intervals, beside those of routers."""
