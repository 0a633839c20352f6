"""The command as its users meet it: arguments and files in; output, errors and an exit code out."""
