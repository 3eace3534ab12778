"""Isolation, one back end a module: `bubblewrap`, `container`, `none`."""
