"""Tasks of every accepted format -> `Task`: one loader per format, found by the names of the modules."""
