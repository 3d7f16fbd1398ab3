"""Actum keeps and runs the durable state of AI agents: sessions, runs, records and transcripts.

Every public name is here. A name's module is imported when the name is first asked for, so `import actum` costs nothing
that is not used. To make a name public, add it to the table below and, for type checkers, to `__init__.pyi`;
tests/shape/test_facade.py holds the two against each other.
"""

from importlib import import_module
from typing import Final

__version__ = "0.1.0"

# The public names by the file that defines them, lowest floor first.
_ROOMS: Final = {
    "actum.base.clock": "Clock now",
    "actum.base.errors": (
        "AccessDenied ActumError AlreadyAnswered AnswerError AnswerRefused ApprovalExpired "
        "CancellationConflict CancellationRequested Conflict ContinuationRefused ContractError "
        "DurableDataError EntryConflict Finding HeadMoved HistoryRefused InvalidCursor InvalidValue "
        "MissingExtra ModelError NotAStore NotFound OwnerMismatch ProviderError RecordConflict RecordNotFound "
        "RegistrationClosed RunBusy RunConflict RunCorrupt RunNotFound RunNotReady RunNotRunning RunPurged "
        "SchemaTooNew SessionActive SessionArchived SessionBusy SessionConflict SessionEnded SessionNotFound "
        "SessionPurged StoreUnavailable StreamNotConfigured SuccessorConflict SuspensionConflict "
        "SuspensionNotFound TerminalConflict TooLarge TranscriptError UnknownItem VersionMismatch"
    ),
    "actum.base.value": "Value",
    "actum.messages.message": "Message Role assistant system tool_results user",
    "actum.messages.parts": (
        "CacheCheckpointPart CharRange ChunkRange Citation CitationsPart DocumentPart ImagePart PageRange "
        "Part TextPart ThinkingPart ToolResultPart ToolUsePart tool_use"
    ),
    "actum.records.failures": "Failure FailureKind Issue Recovery ToolFailure ToolFailureKind",
    "actum.records.kinds": "Cancellation PendingItem PendingKind Phase payload_of",
    "actum.records.makers": (
        "cancellation_intent child_run_linked history_compressed input_answered input_requested "
        "model_responded plan_decided planner_note policy_decision prompt_rendered run_completed "
        "run_phase_changed run_requested run_started run_suspended tool_authorization tool_call_scheduled "
        "tool_call_started tool_result_received transcript_messages_appended transcript_messages_seeded "
        "turn_superseded usage"
    ),
    "actum.records.record": "Follows HistoryRef NewRecord Page Record",
    "actum.records.types": "CANCELLATION_RECORD_TYPE RecordType",
    "actum.lifecycle.commands": (
        "Appended Changed ChildRunStart OneShotChildRunStart OneShotRunStart RepairResult Repaired "
        "RootRunStart RunCancellation RunStart RunSuspension RunTerminal ScopeBehind Started Taken"
    ),
    "actum.lifecycle.states": "Run RunStatus Session SessionStatus StartOutcome Suspension",
    "actum.transcript.replay": "replay_run_log_events",
    "actum.transcript.turns": "keep_newest_turns turns",
    "actum.transcript.validate": "open_calls validate_bedrock validate_planner_transcript",
    "actum.tools.call": "ToolOutcome",
    "actum.tools.define": "tool",
    "actum.tools.failures": "ToolError",
    "actum.tools.spec": "ToolContext ToolDefinition ToolOutput ToolSpec",
    "actum.storage.contract": "OwnedStore SessionAdmin Store",
    "actum.storage.local": "LocalStore",
    "actum.storage.opening": "open_store",
    "actum.model.client": "ModelClient",
    "actum.model.projection": "Fate Projection ProjectionReport",
    "actum.model.request": "ModelRequest ModelSettings OutputSchema ToolChoice",
    "actum.model.response": (
        "Chunk CitationDelta ModelResponse RefusalDelta ResponseStarted StopChunk StopReason TextDelta "
        "ThinkingDelta ToolUseDelta Usage UsageChunk"
    ),
    "actum.model.wrap": "CallTiming RetryingModel TimedModel",
    "actum.stream.events": (
        "AssistantDelta AssistantTurn ChildRunLinkedEvent InputAnsweredEvent InputRequestedEvent "
        "PromptRenderedEvent RunStreamEnd StreamEvent ThinkingEvent ToolAuthorizationEvent ToolEnd ToolStart "
        "ToolUpdate UsageEvent WorkflowEvent"
    ),
    "actum.memory.contract": "EntryStore MemoryStore",
    "actum.memory.delivery": "Delivered deliver_events",
    "actum.memory.embedding": "MiniLMEmbedder",
    "actum.memory.entries": "EntrySource FoundEntry MemoryEntry MemoryScope StoredEntry",
    "actum.memory.events": "Annotation EventType FoundEvent MemoryEvent Snapshot",
    "actum.memory.opening": "Memory open_memory",
    "actum.memory.search": "Embedder",
    "actum.memory.toolset": "memory_tools",
    "actum.memory.view": "MemoryView",
    "actum.planning.history": "CompressHistory HistoryPolicy KeepNewestTurns Past Summary View",
    "actum.planning.model_planner": "ModelPlanner",
    "actum.planning.planner": (
        "AwaitInput ModelUsage PlanInput PlanResult PlanResumeInput Planner Question RunInfo Unfinished"
    ),
    "actum.planning.policy": (
        "FixedCall Limit OnLimit PolicyHook PolicyInput RunPolicy Terms Tightening ToolRestriction"
    ),
    "actum.planning.prompt": "Prompt PromptRegistry PromptUse",
    "actum.loop.world": "RunRequest WorkflowContext",
    "actum.engines.contract": "Completion Engine",
    "actum.engines.local": "LocalEngine",
    "actum.providers.accept": "would_accept",
    "actum.providers.interchange.formats": "Exported export_messages import_messages",
    "actum.providers.interchange.reading": "Imported",
    "actum.providers.pick": "pick",
    "actum.runtime.agent": "Agent",
    "actum.runtime.consent": "CallInQuestion ConfirmRule",
    "actum.runtime.given": "Approval PendingInput PreparedRun",
    "actum.runtime.output": "RunOutput",
    "actum.runtime.runtime": "AgentClient RunHandle Runtime",
    "actum.runtime.snapshots": "CallSnapshot PromptRef RunSnapshot TurnSnapshot",
    "actum.runtime.transcripts": "build_messages_from_run_log",
    "actum.runtime.typed": "complete",
    "actum.host.host": "Host",
    "actum.host.verify": "verify",
    "actum.host.verify_report": "Check Damage Report",
}

_EXPORTS: Final[dict[str, str]] = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = [*_EXPORTS, "__version__"]  # noqa: PLE0604 - read from the table; `__init__.pyi` tells type checkers


def __getattr__(name: str) -> object:
    room = _EXPORTS.get(name)
    if room is None:
        message = f"module 'actum' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(room), name)
    globals()[name] = value  # the next reader finds it without coming here
    return value


def __dir__() -> list[str]:
    """Show the public names, loaded or not, and the module's own."""
    return sorted({*globals(), *__all__})
