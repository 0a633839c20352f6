"""What is foreseen, from the past alone: against slow simple versions, by properties, on the public traces."""
