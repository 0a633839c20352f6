"""The tests of loadfactor."""
