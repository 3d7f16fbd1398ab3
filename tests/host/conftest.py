from collections.abc import Callable
from pathlib import Path

import pytest

from actum.host.host import Host
from actum.runtime.agent import Agent


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/chat.db"


@pytest.fixture
def open_host(url: str) -> Callable[..., Host]:
    def opening(*agents: Agent) -> Host:
        return Host.open(url, agents=agents)

    return opening
