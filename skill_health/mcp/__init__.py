"""Our commands as tools of an agent, by the Model Context Protocol."""
