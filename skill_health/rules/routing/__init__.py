"""What keeps a host from choosing the right skill by its name and description."""
