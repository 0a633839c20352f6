"""The replay: the whole loop in virtual worlds, with everything going wrong."""
