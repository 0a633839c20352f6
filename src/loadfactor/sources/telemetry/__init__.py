"""What GPUs report about themselves: DCGM's metrics as samples in columns, and XID errors in kernel logs."""
