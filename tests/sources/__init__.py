"""Reading logs and building problems from them."""
