"""Families of tasks that follow from what a skill itself declares, one file each, found by its name."""
