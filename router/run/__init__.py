"""A prepared run, carried out."""
