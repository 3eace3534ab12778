"""What each host and specification does with a skill: one file of data per host, and the verdict that follows."""
