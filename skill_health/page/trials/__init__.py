"""The trials of the runs that a page shows: tasks against arms, each trial in full, and two side by side."""
