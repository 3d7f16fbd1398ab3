"""How long a provider's words take: a transcript of 1,000 messages into a body, and its 500 answers out of theirs.

    python -m bench.providers [--messages 1000] [--repeats 7] [--peers]

With `--peers` also how long litellm and pydantic-ai take for their own mapping of the same transcript, as JSON; they
live in bench/.venvs/providers, made from bench/requirements/providers.txt when it is not there. Each figure is a ratio
to plain JSON in the same process: `encode` to `json.dumps` of the very body, `decode` to `json.loads` of the very
answers; `both` is the sum of ours to the sum of theirs. The fastest of the repeats counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actum.messages.message import Message, assistant, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.model.encoded import Encoded
from actum.model.request import ModelRequest, ToolDefinition
from actum.providers.accept import words_of
from actum.providers.anthropic.decode import decode
from actum.providers.bedrock.decode import decode_converse
from actum.providers.gemini.decode import decode_gemini
from actum.providers.openai.decode import decode_chat
from actum.providers.openai.responses_decode import decode_responses

_HERE = Path(__file__).parent
_WORDS = "A sentence of the kind that people and models say to each other, some thirty of them to a paragraph. " * 6


def transcript(messages: int) -> tuple[Message, ...]:
    """Turns of four messages: a question, a tool use, its result, an answer."""
    said: list[Message] = []
    for turn in range(messages // 4):
        found = {"rows": [{"id": n, "name": f"row {n}", "score": n / 7} for n in range(8)], "more": False}
        said += [
            user(f"{turn}: {_WORDS}"),
            assistant(_WORDS, tool_use(f"call_{turn}", "search_text", {"text": _WORDS[:80], "limit": turn})),
            tool_results(ToolResultPart(tool_use_id=f"call_{turn}", content=found)),
            assistant(f"{turn}: {_WORDS}"),
        ]
    return tuple(said)


def answers(provider: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The assistant's messages of a body as whole answers of that provider."""
    if provider == "anthropic":
        said = [each["content"] for each in body["messages"] if each["role"] == "assistant"]
        return [{"id": "m", "type": "message", "content": each, "stop_reason": "end_turn"} for each in said]
    if provider == "bedrock":
        said = [each for each in body["messages"] if each["role"] == "assistant"]
        return [{"output": {"message": each}, "stopReason": "end_turn"} for each in said]
    if provider == "gemini":
        said = [each for each in body["contents"] if each["role"] == "model"]
        return [{"responseId": "r", "candidates": [{"content": each, "finishReason": "STOP"}]} for each in said]
    if provider == "openai-chat":
        said = [each for each in body["messages"] if each["role"] == "assistant"]
        return [{"id": "c", "choices": [{"index": 0, "message": each, "finish_reason": "stop"}]} for each in said]
    found: list[Any] = []
    for item in body["input"]:
        if item.get("role") == "assistant":
            text = {"type": "output_text", "text": item["content"], "annotations": []}
            found.append({"id": "r", "status": "completed", "output": [item | {"content": [text]}]})
        elif item.get("type") == "function_call":
            found[-1]["output"].append(item) if found else None
    return found


def reading(provider: str) -> Callable[[bytes, Encoded], object]:
    """How an answer's bytes are decoded."""
    by_bytes = {"anthropic": decode, "bedrock": decode_converse, "gemini": decode_gemini}
    if provider in by_bytes:
        return by_bytes[provider]
    by_value = decode_chat if provider == "openai-chat" else decode_responses
    return lambda data, encoded: by_value(json.loads(data), encoded)


def fastest(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the processor for the fastest of so many runs; on a busy machine the clock says little."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def measured(provider: str, messages: int, repeats: int) -> dict[str, float]:
    """The ratios of one provider."""
    project = words_of(provider).project
    tools = (ToolDefinition(name="search_text", input_schema={"type": "object", "properties": {}}),)
    request = ModelRequest(model="some-model", messages=transcript(messages), tools=tools)
    encoded = project(request)
    body = json.loads(encoded.data)
    said = [json.dumps(each, separators=(",", ":")).encode() for each in answers(provider, body)]
    read = reading(provider)
    encode_s = fastest(lambda: project(request).data, repeats)
    dump_s = fastest(lambda: json.dumps(body).encode(), repeats)
    decode_s = fastest(lambda: [read(each, encoded) for each in said], repeats)
    load_s = fastest(lambda: [json.loads(each) for each in said], repeats)
    return {
        "encode_ms": encode_s * 1000,
        "encode": encode_s / dump_s,
        "decode_ms": decode_s * 1000,
        "decode": decode_s / load_s,
        "both": (encode_s + decode_s) / (dump_s + load_s),
    }


def peers(messages: int, repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds of each peer by provider; none where it maps nothing."""
    place = _HERE / ".venvs" / "providers"
    python, stamp = place / "bin" / "python", place / "installed"
    if not stamp.exists():
        wanted = _HERE / "requirements" / "providers.txt"
        subprocess.run([sys.executable, "-m", "venv", place], check=True)  # noqa: S603 - a command of this folder
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", wanted], check=True)  # noqa: S603 - as above
        stamp.touch()
    request = ModelRequest(model="some-model", messages=transcript(messages))
    said = json.loads(words_of("openai-chat").project(request).data)["messages"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "messages.json"
        file.write_text(json.dumps(said), encoding="utf-8")
        command = [str(python), "-m", "bench.peers.provider_words", str(file), str(repeats)]
        done = subprocess.run(command, cwd=_HERE.parent, capture_output=True, text=True, check=True)  # noqa: S603 - as above
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure every provider and print one line of JSON a provider."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    others = peers(given.messages, given.repeats) if given.peers else {}
    for provider in ("anthropic", "bedrock", "gemini", "openai", "openai-chat"):
        figures = measured(provider, given.messages, given.repeats)
        figures |= {f"{peer}_encode_ms": found[provider] for peer, found in others.items() if provider in found}
        print(json.dumps({"provider": provider, **{name: round(value, 2) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
