"""The part of the page that is about one skill: findings, confusions, tasks, and a failing trial."""
