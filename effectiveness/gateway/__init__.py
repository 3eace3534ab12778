"""The only way from a sandbox to a model: keys are added on our side of it, and what passes is measured."""
