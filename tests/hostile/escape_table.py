"""The ways out of a box, and the levels that stop each: what docs/security.md promises."""

from collections.abc import Mapping

LEVELS = ("off", "workspace", "strict")

#: The levels that stop each way out. What no level stops is said so in the docs.
STOPPED_AT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "write_outside",
            "write_through_a_link",
            "write_the_users_home",
            "write_hooks_of_the_source",
            "write_config_of_the_source",
            "push_by_force",
            "write_another_task",
            "write_the_queue",
            "write_fleets_settings",
            "write_its_own_record",
            "forge_its_output",
            "rewrite_its_prompt",
            "write_through_any_descriptor",
            "write_what_its_cli_obeys",
            "write_what_its_cli_looks_for",
            "read_a_key",
            "read_another_account",
            "read_its_refresh_token",
            "read_a_key_of_the_machine",
            "read_the_supervisors_environment",
            "reach_its_keeper",
            "unmount_what_hides",
            "change_the_kernel",
            "connect_to_a_socket_file",
            "fill_memory_with_files",
        ),
        ("workspace", "strict"),
    ),
    **dict.fromkeys(
        (
            "read_its_own_key",
            "have_the_vendor_repeat_its_key",
            "connect_to_an_abstract_socket",
            "connect_to_this_machine",
            "ask_the_proxy_for_another_host",
            "send_a_datagram",
        ),
        ("strict",),
    ),
    "outlive_its_run": LEVELS,
    "fill_the_disk": (),
    "speak_through_its_cli": (),
}

#: Ways that need root outside of a box, a proxy that only a strict box has, or a kernel that lets
#: one tool trace another: no level but those that stop them can be shown to be without them.
NOT_OPEN_EVERYWHERE = frozenset({
    "read_a_key_of_the_machine", "change_the_kernel", "ask_the_proxy_for_another_host",
    "read_the_supervisors_environment", "unmount_what_hides", "speak_through_its_cli",
})  # fmt: skip
