"""A provider's page shows the table that its code keeps; `ACTUM_GOLDEN=write pytest tests/docs` writes it anew."""

import os
import re

import pytest

from actum.model.rules import table_of
from actum.providers.accept import PROVIDERS, words_of
from tests.support.project import ROOT

PAGES = {
    "anthropic": "anthropic.md",
    "bedrock": "bedrock.md",
    "gemini": "gemini.md",
    "openai": "openai.md",
    "openai-chat": "openai.md",
}


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_a_page_shows_the_table_of_its_provider(provider: str) -> None:
    page = ROOT / "docs" / "providers" / PAGES[provider]
    begin, end = f"<!-- parts: {provider} -->\n", "<!-- end of parts -->"
    shown = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    expected = f"{begin}{table_of(words_of(provider).rules)}{end}"
    if os.environ.get("ACTUM_GOLDEN") == "write":
        page.write_text(shown.sub(lambda _: expected, page.read_text(encoding="utf-8")), encoding="utf-8")
    found = shown.search(page.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == expected
