"""Where work is done: in this process and those that it starts, on a cluster, or in parts on machines of their own."""
