"""One module per kind of draft that a person decides on: how it is shown, edited, accepted and rejected."""
