"""The agents, one module each; found by name, and imported only when they are asked for."""
