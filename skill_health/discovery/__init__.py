"""Paths -> the skills of a collection: ignores, links, copies, plugins, and what hosts list of them."""
