"""Style as tests: what a reader may rely on anywhere in the project."""
