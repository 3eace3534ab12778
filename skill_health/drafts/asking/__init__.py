"""Models that are asked for drafts: within caps, through a journal, and never twice for what they have answered."""
