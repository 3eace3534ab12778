"""From the files of a collection to the page's data: read, checked, bounded, and never trusted."""
