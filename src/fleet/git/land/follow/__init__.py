"""A person's working tree follows the branch when accepted work lands."""
