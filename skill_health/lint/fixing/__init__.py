"""Changes of files that findings lead to: edits, fixes, comments that ignore."""
