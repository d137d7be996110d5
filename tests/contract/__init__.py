"""What every kept protocol means, said once and run against each implementation."""

import pytest

pytest.register_assert_rewrite(
    "tests.contract.queue_contract", "tests.contract.queue_facts", "tests.contract.queue_model"
)
