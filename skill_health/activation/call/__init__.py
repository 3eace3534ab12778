"""One request to one agent: a proved workspace, the agent until it opens a skill, and what that came to."""
