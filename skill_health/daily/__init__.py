"""Two runs -> what has drifted, and the history that it is read from."""
