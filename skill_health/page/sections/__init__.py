"""The sections of the page, one file each, with the template beside it."""
