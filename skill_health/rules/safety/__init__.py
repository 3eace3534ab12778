"""What a skill must not do to its user: run what strangers send, give secrets away, hide what it does."""
