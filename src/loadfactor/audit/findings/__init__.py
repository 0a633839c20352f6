"""The rules of the audit, one file each."""
