"""What lies beside the skills: claims, mechanisms, cases, prompts and tasks."""
