"""Prompts: immutable templates under a name, each version named by the digest of its text.

A template that changes is another version of its prompt; the newest one added is what runs use. A session may be held
to another version by an entry of its metadata, which every process that plans for the session sees. What was rendered
is a record of the run, so it is known for ever which words a model was given.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from string import Formatter
from typing import Final, TypeAlias

from actum.base.checks import identifier, refuse, text
from actum.planning.planner import RunInfo
from actum.records.kinds import PromptRendered

# The metadata entry of a session that is held to a version of a prompt begins with this; the prompt's id follows.
OVERRIDE: Final = "prompt:"


@dataclass(frozen=True)
class Prompt:
    """One version of a prompt. `{name}` in the text is a place for a value; `{{` and `}}` are braces.

    Raises InvalidValue for an odd id, and for a text with a place that is not a plain name.
    """

    prompt_id: str
    text: str
    places: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        identifier("prompt_id", self.prompt_id)
        object.__setattr__(self, "places", frozenset(_places(text("prompt.text", self.text))))

    @cached_property
    def version(self) -> str:
        """The digest of the text: `sha256:` and 64 hexadecimal digits."""
        return f"sha256:{hashlib.sha256(self.text.encode()).hexdigest()}"

    def render(self, values: Mapping[str, str]) -> str:
        """The text with a value in each place. Raises InvalidValue when one is missing, unknown, or no text."""
        if set(values) != self.places:
            raise refuse("values", sorted(values), f"name the places of {self.prompt_id!r}: {sorted(self.places)}")
        for name, value in values.items():
            text(f"values.{name}", value)
        parsed = Formatter().parse(self.text)
        return "".join(said + (values[name] if name is not None else "") for said, name, _, _ in parsed)


class PromptRegistry:
    """Prompts by id and version. Versions are added and never changed or taken away."""

    def __init__(self, prompts: Mapping[str, str] | None = None) -> None:
        self._versions: dict[str, dict[str, Prompt]] = {}
        for prompt_id, said in (prompts or {}).items():
            self.add(prompt_id, said)

    def add(self, prompt_id: str, said: str) -> Prompt:
        """Adds a version, which is what runs use from now on; one that was added before is that version."""
        prompt = Prompt(prompt_id, said)
        versions = self._versions.setdefault(prompt_id, {})
        known = versions.pop(prompt.version, prompt)
        versions[known.version] = known
        return known

    def get(self, prompt_id: str, version: str | None = None) -> Prompt:
        """This version of a prompt; the newest unless given. Raises InvalidValue for one that is not known here."""
        versions = self._versions.get(prompt_id)
        if versions is None:
            raise refuse("prompt_id", prompt_id, f"names a prompt: {sorted(self._versions) or 'there is none'}")
        prompt = next(reversed(versions.values())) if version is None else versions.get(version)
        if prompt is None:
            raise refuse("version", version, f"is a version of {prompt_id!r}: {list(versions)}")
        return prompt

    def versions(self, prompt_id: str) -> tuple[Prompt, ...]:
        """All versions of a prompt, the newest last. Raises InvalidValue for an unknown prompt."""
        self.get(prompt_id)
        return tuple(self._versions[prompt_id].values())

    def overridden(self, metadata: Mapping[str, str], prompt_id: str, version: str | None) -> dict[str, str]:
        """A session's metadata with this prompt held to a version; with None it is free again.

        Give the answer to `set_session_metadata`. Raises InvalidValue for a version that is not known here.
        """
        self.get(prompt_id, version)
        others = {key: value for key, value in metadata.items() if key != OVERRIDE + prompt_id}
        return others if version is None else {**others, OVERRIDE + prompt_id: version}

    def render(self, prompt_id: str, run: RunInfo, values: Mapping[str, str]) -> tuple[str, PromptRendered]:
        """The text that a run is given, and the payload that records it.

        Raises InvalidValue for an unknown prompt or version, and for values that do not fit its places.
        """
        version = run.session_metadata.get(OVERRIDE + prompt_id)
        prompt = self.get(prompt_id, version)
        scope = None if version is None else f"session:{run.session_id}"
        return prompt.render(values), PromptRendered(prompt_id=prompt_id, version=prompt.version, scope=scope)


Values: TypeAlias = Mapping[str, str] | Callable[[RunInfo], Mapping[str, str]]


@dataclass(frozen=True)
class PromptUse:
    """A prompt as an agent's instructions, with values for its places or a function of the run that gives them."""

    prompt_id: str
    values: Values = field(default_factory=dict)

    def of(self, run: RunInfo) -> Mapping[str, str]:
        """The values for this run."""
        return self.values(run) if callable(self.values) else self.values


def _places(said: str) -> list[str]:
    try:
        parsed = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(said)]
    except ValueError as error:
        raise refuse(
            "prompt.text", said, f"has braces in pairs, and doubled where they mean themselves ({error})"
        ) from None
    found = []
    for name, spec, conversion in parsed:
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            raise refuse("prompt.text", name, "has places that are plain names, such as {city}")
        found.append(name)
    return found
