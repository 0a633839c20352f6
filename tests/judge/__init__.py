"""The judge, against planted violations and numbers worked out by hand."""
