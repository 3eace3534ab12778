"""Tasks, rubrics, skills and results as a data set: rows, what is fit to publish, files and a card."""
