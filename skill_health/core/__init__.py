"""The ground floor: reading skills, configuration, histories. Imports nothing of ours outside core."""
