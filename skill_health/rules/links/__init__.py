"""Links, anchors, bundled paths and references between skills: what they point at exists."""
