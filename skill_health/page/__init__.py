"""One self-contained HTML page over everything that is known of a collection, and what is made of the same data."""
