"""Many repositories: one record, one history and one page over all of them."""
