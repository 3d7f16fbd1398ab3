import hashlib

import pytest

from actum.base.errors import InvalidValue
from actum.planning.planner import RunInfo
from actum.planning.prompt import Prompt, PromptRegistry, PromptUse
from actum.records.kinds import PromptRendered

HELLO = "Hello {name}, you are in {city}."
RUN = RunInfo(run_id="r", agent_id="a", session_id="s")


def test_a_version_is_the_digest_of_the_text() -> None:
    assert Prompt("hello", HELLO).version == f"sha256:{hashlib.sha256(HELLO.encode()).hexdigest()}"


def test_a_rendered_text_has_a_value_in_each_place() -> None:
    assert Prompt("hello", HELLO).render({"name": "Ada", "city": "Ulm"}) == "Hello Ada, you are in Ulm."


def test_a_value_is_never_a_template() -> None:
    assert Prompt("p", "{a}{b}").render({"a": "{b}", "b": "{a.__class__}"}) == "{b}{a.__class__}"


def test_doubled_braces_are_braces() -> None:
    assert Prompt("p", 'Answer as {{"city": "{city}"}}.').render({"city": "Ulm"}) == 'Answer as {"city": "Ulm"}.'


@pytest.mark.parametrize(
    "values", [{}, {"name": "Ada"}, {"name": "A", "city": "U", "more": "x"}, {"name": 7, "city": "U"}]
)
def test_values_that_do_not_fit_the_places_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(InvalidValue):
        Prompt("hello", HELLO).render(values)


@pytest.mark.parametrize("text", ["{", "}", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>9}", "{a b}", "\ud800"])
def test_a_text_with_other_places_is_no_template(text: str) -> None:
    with pytest.raises(InvalidValue):
        Prompt("p", text)


@pytest.mark.parametrize("prompt_id", ["", " ", "x" * 600])
def test_an_odd_id_is_refused(prompt_id: str) -> None:
    with pytest.raises(InvalidValue):
        PromptRegistry({prompt_id: "hi"})


def test_the_newest_version_is_used_and_the_old_ones_stay() -> None:
    prompts = PromptRegistry({"hello": "one"})
    first = prompts.get("hello")
    second = prompts.add("hello", "two")
    assert prompts.get("hello") == second
    assert prompts.get("hello", first.version) == first
    assert prompts.versions("hello") == (first, second)


def test_a_text_that_is_added_again_is_the_same_version_and_the_newest() -> None:
    prompts = PromptRegistry({"hello": "one"})
    first = prompts.get("hello")
    prompts.add("hello", "two")
    assert prompts.add("hello", "one") is first
    assert prompts.get("hello") is first
    assert len(prompts.versions("hello")) == 2


@pytest.mark.parametrize("prompt_id, version", [("nobody", None), ("hello", "sha256:0")])
def test_what_is_not_there_is_refused(prompt_id: str, version: str | None) -> None:
    with pytest.raises(InvalidValue):
        PromptRegistry({"hello": "one"}).get(prompt_id, version)


def test_a_session_is_held_to_a_version_by_its_metadata() -> None:
    prompts = PromptRegistry({"hello": "one"})
    old = prompts.get("hello").version
    prompts.add("hello", "two")
    metadata = prompts.overridden({"plan": "free"}, "hello", old)
    held = RunInfo(run_id="r", agent_id="a", session_id="s", session_metadata=metadata)
    record = PromptRendered(prompt_id="hello", version=old, scope="session:s")
    assert prompts.render("hello", held, {}) == ("one", record)
    assert prompts.render("hello", RUN, {})[0] == "two"
    assert prompts.overridden(metadata, "hello", None) == {"plan": "free"}


def test_an_override_that_names_no_version_is_refused() -> None:
    prompts = PromptRegistry({"hello": "one"})
    with pytest.raises(InvalidValue):
        prompts.overridden({}, "hello", "sha256:0")
    odd = RunInfo(run_id="r", agent_id="a", session_id="s", session_metadata={"prompt:hello": "sha256:0"})
    with pytest.raises(InvalidValue):
        prompts.render("hello", odd, {})


def test_values_may_be_a_function_of_the_run() -> None:
    assert PromptUse("hello", lambda run: {"who": run.agent_id}).of(RUN) == {"who": "a"}
    assert PromptUse("hello", {"who": "b"}).of(RUN) == {"who": "b"}
