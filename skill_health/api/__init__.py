"""What other programs may call; `import skill_health` offers it by name. docs/api.md says what stays the same."""
