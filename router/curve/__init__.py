"""How a router fares as the collection grows: nested libraries, one run for each, and the figures side by side."""
