"""What the machine is short of: disk, memory, processes."""
