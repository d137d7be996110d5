"""Where a strict box leads to: names, ports and addresses."""

import pytest

from fleet.sandbox.network_holder import is_named, may_connect, read_host

NAMED = ("api.example.com", "*.npm.org", "127.0.0.1:8080", "Registry.Example.com.:8443")
HOSTS = [read_host(host) for host in NAMED]


@pytest.mark.parametrize(
    ("host", "port", "led"),
    [
        ("api.example.com", 443, True),
        ("API.example.com.", 80, True),
        ("api.example.com", 22, False),
        ("api.example.com.evil.org", 443, False),
        ("evil-api.example.com", 443, False),
        ("sub.api.example.com", 443, False),
        ("a.npm.org", 443, True),
        ("a.b.npm.org", 443, True),
        ("npm.org", 443, False),
        ("evilnpm.org", 443, False),
        ("127.0.0.1", 8080, True),
        ("127.0.0.1", 443, False),
        ("registry.example.com", 8443, True),
        ("registry.example.com", 443, False),
        ("", 443, False),
    ],
)
def test_only_named_hosts_are_led_to(host, port, led):
    """A name is compared whole, and a host without a port has two."""
    assert is_named(HOSTS, host, port) is led


@pytest.mark.parametrize(
    ("host", "address", "may"),
    [
        ("api.example.com", "93.184.216.34", True),
        ("api.example.com", "127.0.0.1", False),
        ("api.example.com", "10.1.2.3", False),
        ("api.example.com", "169.254.169.254", False),
        ("api.example.com", "::1", False),
        ("api.example.com", "::ffff:127.0.0.1", False),
        ("api.example.com", "fe80::1%eth0", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("localhost", "::1", True),
        ("10.1.2.3", "10.1.2.3", True),
    ],
)
def test_a_name_must_not_lead_to_this_machine_or_its_network(host, address, may):
    """An allowed name whose owner points it at 127.0.0.1 opens nothing."""
    assert may_connect(host, address) is may
