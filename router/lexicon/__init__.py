"""What free routers know of a collection: fields of skills, their terms and vectors, and when to say that none fits."""
