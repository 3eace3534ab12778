"""How likely the requests of a skill are lost, from its text and its siblings' alone: no label, no model."""
