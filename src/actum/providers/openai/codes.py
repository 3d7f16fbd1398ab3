"""OpenAI's own words for what went wrong, where they come without a status: in a stream, or inside an answer."""

from typing import Final

BY_CODE: Final[dict[str, tuple[str, bool]]] = {
    "insufficient_quota": ("quota", False),
    "content_filter": ("content_filter", False),
    "content_policy_violation": ("content_filter", False),
    "image_content_policy_violation": ("content_filter", False),
    "invalid_prompt": ("content_filter", False),
    "bio_policy": ("content_filter", False),
    "cyber_policy": ("content_filter", False),
    "server_error": ("unavailable", True),
    "rate_limit_exceeded": ("rate_limited", True),
    "vector_store_timeout": ("timeout", True),
}
_ABOUT_IMAGES: Final = ("invalid_image", "image_", "unsupported_image", "empty_image", "failed_to_download_image")


def of_code(code: str | None) -> tuple[str, bool]:
    """The kind of error behind a code, and whether the same call may succeed later; unknown ones may pass."""
    given = code or ""
    if given not in BY_CODE and given.startswith(_ABOUT_IMAGES):
        return "model_request", False
    return BY_CODE.get(given, ("unavailable", True))
