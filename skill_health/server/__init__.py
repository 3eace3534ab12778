"""The language server: what is open in an editor -> findings, fixes, explanations and links."""
