"""A person's working tree follows its branch when verified work lands."""
