"""The real claude goes on with the trace of its task."""

import pytest

from tests.conftest import only_slow
from tests.otlp_receiver import OtlpReceiver, make_certificate
from tests.real.house import CLOSE
from tests.scripted_model import Call, Say, ScriptedModel


@pytest.fixture(params=["http", pytest.param("https", marks=only_slow)])
def receiver(request, tmp_path):
    tls = make_certificate(tmp_path / "receiver.pem") if request.param == "https" else None
    receiver = OtlpReceiver(tls=tls)
    receiver.certificate = str(tls or "")
    yield receiver
    receiver.close()


def test_claudes_own_spans_stand_below_its_run(house, receiver):
    """One trace from the task to each call of the model, also where the operator's own resource
    attributes are passed.
    """
    write = Call(tool="Write", input={"file_path": "a.txt", "content": "hi"})
    with ScriptedModel(write, CLOSE, Say(text="Done.")) as model:
        here = house("claude", model)
        write.input["file_path"] = str(here.project / "a.txt")
        here.env["OTEL_RESOURCE_ATTRIBUTES"] = "team=night"
        here.configure(pass_env="OTEL_RESOURCE_ATTRIBUTES")
        runtime = here.home / "runtime.toml"
        table = f'endpoint = "{receiver.url}"\ncertificate = "{receiver.certificate}"'
        runtime.write_text(f"{runtime.read_text()}\n[otel]\n{table}\n")
        here.create("claude")
        here.fleet("run", "--until-idle")
        receiver.until(lambda: receiver.named("task"))
    own = [span for span in receiver.spans if span.name.startswith("claude_code.")]
    assert {"claude_code.interaction", "claude_code.llm_request"} <= {span.name for span in own}
    (agent,) = receiver.named("agent")
    assert {span.trace for span in own} == {agent.trace}
    ids = {span.id: span for span in receiver.spans}
    for span in own:
        while span.id != agent.id:
            span = ids[span.parent]  # noqa: PLW2901 - up to the root
    assert own[0].resource["fleet.task"] == "fleet-abc"
    assert own[0].resource["team"] == "night"
    assert agent.attributes["gen_ai.conversation.id"] == here.ending()["session_id"]
    assert agent.attributes["gen_ai.usage.output_tokens"] > 0
    assert "/v1/metrics" in receiver.requests
    assert "Write a.txt" not in str([span.attributes for span in receiver.spans])
