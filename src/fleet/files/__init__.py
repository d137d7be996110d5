"""Files that several processes read and write: atomic, locked, followed, bounded."""
