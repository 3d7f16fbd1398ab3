import pytest

from actum.base.errors import InvalidValue
from actum.storage.opening import open_store


@pytest.mark.parametrize("url", ["", "memory", "memory:x", "sqlite:///", "sqlite:///a\0b", "sqlite:///\ud800", 5, None])
async def test_what_is_no_url_of_a_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="url"):
        async with open_store(url):
            pass
