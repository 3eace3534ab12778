"""What skills ship in: manifests, hooks, commands, subagents, MCP servers, catalogues and scripts."""
