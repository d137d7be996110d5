"""A person's working tree follows the branch when verified work lands."""
