"""The protocols of the providers, one per file; `_load` finds them by name and imports only those asked for."""
