"""Numbers and findings that a skill asserts: are they sourced, and is the source still good?"""
