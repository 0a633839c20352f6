"""The nouns and the two documents."""
