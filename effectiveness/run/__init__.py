"""A prepared run, carried out, and its folder."""
