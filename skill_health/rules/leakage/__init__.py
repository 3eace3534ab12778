"""What a skill must not contain: secrets, private details, hidden text and evaluation material."""
