"""Links, anchors, bundled paths and references between skills: does what they point at exist?"""
