"""Records of earlier versions are read in the words of today."""

import msgspec
import pytest

from fleet.files import seals
from fleet.home import compare_json, landing_json
from fleet.schemas import typed
from fleet.schemas.comparison import Comparison, Result

_FIGURES = (
    '"why":"","attempts":1,"seconds":2.0,"untimed":0,"usage":{"input":0,"cache_read":0,'
    '"cache_write":0,"output":0},"uncounted":0,"tokens_so_far":0,"cost_usd":0.0,'
    '"estimated_usd":0.0,"unpriced":1,"size":null'
)
#: A compare.json as it was written before verdicts had today's words.
EARLIER_COMPARISON = (
    '{"task_id":"fleet-x4f","repository":"/code/shop","commit":"5e90bb1",'
    '"at":"2026-11-18T19:40:00Z","by":"ada","was":"open","waited":null,"state":"picked","entries":['
    + ",".join(
        f'{{"number":{number},"coder":"{coder}","model":null,"turn":1,"task_id":"fleet-{coder}",'
        f'"result":{{"standing":"{standing}",{_FIGURES}}}}}'
        for number, (coder, standing) in enumerate(
            [("claude", "plausible"), ("codex", "unverified"), ("agy", "out_of_scope"),
             ("mine", "checked")], start=1,
        )
    )
    + '],"picked":"fleet-claude","landed":"7a276ec","branch":"main"}\n'
)  # fmt: skip


def test_an_earlier_comparison_is_read_in_todays_words(home):
    """A comparison that was picked before the upgrade is shown as it was, in one vocabulary."""
    home.task("fleet-x4f").mkdir()
    (home.task("fleet-x4f") / compare_json.FILE).write_text(EARLIER_COMPARISON)
    found = compare_json.read(home, "fleet-x4f")
    assert found is not None
    standings = [each.result.standing for each in found.entries if each.result]
    assert standings == ["unchecked", "rejected", "out of scope", "checked"]


#: A landing.json of work that had not been brought home when fleet was upgraded.
EARLIER_LANDING = (
    '{"state":"verified","why":"","why_back":null,"repository":"/srv/app","into":"main","run":2,'
    f'"base":"{"b" * 40}","merged":"","tree":"{"c" * 40}","commit":"","checked":true,'
    '"checks":[".: make test"],"asks":[],"title":"Add pytest","reason":"did it [run 2, checked:'
    ' fleet task fleet-a receipt]","how":"merge","to":"branch","tries":0,"approved_by":"",'
    '"at":"2026-11-18T19:40:00Z","conflict":[],"output":"","against":[],"merge":null,'
    '"refused":"","refusals":0,"refused_run":0,"host":"","red_line":"","landed":null}\n'
)


def test_an_earlier_landing_is_acted_on(home):
    """Accepted work that waited while fleet was upgraded lands: its seal holds for the old text."""
    seals.begin(home.path)
    home.task("fleet-a").mkdir()
    seals.write_sealed(home.task("fleet-a"), landing_json.FILE, EARLIER_LANDING.encode())
    landing = landing_json.believed(home, "fleet-a")
    assert landing is not None
    assert (landing.state, landing.commit, landing.checked) == ("waiting", "", True)


def test_values_of_earlier_rows_are_read_too():
    """Metadata of a queue comes as dicts and lists."""
    found = typed.convert([{"standing": "plausible"}], list[Result])
    assert found == [Result(standing="unchecked")]


@pytest.mark.parametrize(
    "damaged",
    ['{"standing":"splendid"}', '{"standing":3}', '{"standing":' + "[" * 3000 + "]" * 3000 + "}"],
)
def test_what_no_version_wrote_is_refused(damaged):
    """An unknown word, another type and a text too deep to read are damage, as before."""
    with pytest.raises(msgspec.ValidationError):
        typed.decode(damaged, Result)


def test_a_text_that_is_no_json_is_refused():
    """A record that was cut off says so, and is not taken for an earlier one."""
    with pytest.raises(msgspec.DecodeError):
        typed.decode(EARLIER_COMPARISON[:-20], Comparison)
