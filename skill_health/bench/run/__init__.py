"""A run under way: what is done within the caps, one by one, and what is written when it is over."""
