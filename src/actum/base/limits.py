"""Every bound in one table. A bound is an error, never a cut; sizes are bytes unless a name says otherwise."""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

IDENTIFIER_BYTES: Final = 512
REASON_BYTES: Final = 4096
LABEL_ENTRIES: Final = 64
LABEL_KEY_BYTES: Final = 256
LABEL_VALUE_BYTES: Final = 2048
PAYLOAD_BYTES: Final = 16 * MIB
CHECKPOINT_BYTES: Final = 16 * MIB
COMMAND_RECORDS: Final = 1000
COMMAND_BYTES: Final = 32 * MIB
JSON_DEPTH: Final = 128
# A JSON or verbatim value inside one of ours. Sixteen levels less, so that whatever was accepted once (a tool's result)
# also fits into everything that carries it (its message, the message's record, an event around the record).
CONTENT_DEPTH: Final = JSON_DEPTH - 16
INTEGER_DIGITS: Final = 4300
COUNT_MAX: Final = 2**63 - 1

# A tool's or a provider's own words are cut here, at a character, and marked: losing the turn would be worse.
FAILURE_MESSAGE_BYTES: Final = 4096

PAGE_ITEMS: Final = 1000
PAGE_ITEMS_DEFAULT: Final = 100
PAGE_BYTES: Final = 8 * MIB
CURSOR_CHARS: Final = 4096

# What the search by vectors keeps in memory, of all scopes of one open memory.
VECTOR_CACHE_BYTES: Final = 64 * MIB

GROUP_COMMANDS: Final = 512
GROUP_BYTES: Final = 64 * MIB

LOOP_STEPS: Final = 200
PARALLEL_TOOLS: Final = 64
# How often an idempotent tool is tried, in all, when it fails of something that may pass.
TOOL_TRIES: Final = 3
# A failure names the first of so many wrong fields and counts the rest: a model corrects what it can read.
TOOL_ISSUES: Final = 32

# What is kept for one slow watcher: so many pieces of answers, the newest. Events are never dropped.
STREAM_DELTAS: Final = 1024

SHOWN_CHARS: Final = 80
