"""The control core: every event, every rule, and the loop around them."""
