"""The folders of a trial: what is staged in them, and the processes that work there."""
