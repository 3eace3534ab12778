"""What a collection consists of: sizes, files, licences, categories, copies, and when skills came."""
