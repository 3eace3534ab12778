"""What the place that hosts a repository shows of a job: one comment on a pull request, and alerts from SARIF."""
