"""Do the descriptions route a request to the right skill? The benchmark of question 2."""
