"""What all coders share in reading a stream."""
