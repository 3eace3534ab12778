"""Setting a repository up: a survey of what it holds, the texts of its files, and the plan that writes them."""
