"""The documentation is tested: its examples run, its commands print what it says, its tables are true."""
