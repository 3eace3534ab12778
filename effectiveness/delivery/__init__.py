"""How the staged skills reach an agent: as files, in the prompt, or from a server; as they are, or compiled."""
