"""What goes with gain and with loss, as opinions: all of these rules are opt-in."""
