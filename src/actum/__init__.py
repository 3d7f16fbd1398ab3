"""Actum keeps and runs the durable state of AI agents: sessions, runs, records and transcripts.

Every public name is here. A name's module is imported when the name is first asked for, so `import actum` costs nothing
that is not used. To make a name public, add it in three places, each in alphabetical order: the imports that type
checkers read, `__all__`, and `_EXPORTS`. tests/shape/test_facade.py holds the three against each other.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actum.base.errors import ActumError as ActumError

__version__ = "0.1.0"

__all__ = [
    "ActumError",
    "__version__",
]

_EXPORTS: dict[str, str] = {
    "ActumError": "actum.base.errors",
}

# Type checkers must not see this function: with it every misspelt name would look like a public one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        module = _EXPORTS.get(name)
        if module is None:
            message = f"module 'actum' has no attribute {name!r}"
            raise AttributeError(message)
        value = getattr(import_module(module), name)
        globals()[name] = value  # the next reader finds it without coming here
        return value


def __dir__() -> list[str]:
    """Show the public names, loaded or not, and the module's own."""
    return sorted({*globals(), *__all__})
