"""What a skill must not carry: secrets, private details, hidden text and evaluation material."""
