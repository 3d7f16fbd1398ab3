from actum.base.clock import Clock as Clock
from actum.base.clock import now as now
from actum.base.errors import (
    AccessDenied as AccessDenied,
)
from actum.base.errors import (
    ActumError as ActumError,
)
from actum.base.errors import (
    AlreadyAnswered as AlreadyAnswered,
)
from actum.base.errors import (
    AnswerError as AnswerError,
)
from actum.base.errors import (
    AnswerRefused as AnswerRefused,
)
from actum.base.errors import (
    ApprovalExpired as ApprovalExpired,
)
from actum.base.errors import (
    CancellationConflict as CancellationConflict,
)
from actum.base.errors import (
    CancellationRequested as CancellationRequested,
)
from actum.base.errors import (
    Conflict as Conflict,
)
from actum.base.errors import (
    ContinuationRefused as ContinuationRefused,
)
from actum.base.errors import (
    ContractError as ContractError,
)
from actum.base.errors import (
    DurableDataError as DurableDataError,
)
from actum.base.errors import (
    EntryConflict as EntryConflict,
)
from actum.base.errors import (
    Finding as Finding,
)
from actum.base.errors import (
    HeadMoved as HeadMoved,
)
from actum.base.errors import (
    HistoryRefused as HistoryRefused,
)
from actum.base.errors import (
    InvalidCursor as InvalidCursor,
)
from actum.base.errors import (
    InvalidValue as InvalidValue,
)
from actum.base.errors import (
    MissingExtra as MissingExtra,
)
from actum.base.errors import (
    ModelError as ModelError,
)
from actum.base.errors import (
    NotAStore as NotAStore,
)
from actum.base.errors import (
    NotFound as NotFound,
)
from actum.base.errors import (
    OwnerMismatch as OwnerMismatch,
)
from actum.base.errors import (
    ProviderError as ProviderError,
)
from actum.base.errors import (
    RecordConflict as RecordConflict,
)
from actum.base.errors import (
    RecordNotFound as RecordNotFound,
)
from actum.base.errors import (
    RegistrationClosed as RegistrationClosed,
)
from actum.base.errors import (
    RunBusy as RunBusy,
)
from actum.base.errors import (
    RunConflict as RunConflict,
)
from actum.base.errors import (
    RunCorrupt as RunCorrupt,
)
from actum.base.errors import (
    RunNotFound as RunNotFound,
)
from actum.base.errors import (
    RunNotReady as RunNotReady,
)
from actum.base.errors import (
    RunNotRunning as RunNotRunning,
)
from actum.base.errors import (
    RunPurged as RunPurged,
)
from actum.base.errors import (
    SchemaTooNew as SchemaTooNew,
)
from actum.base.errors import (
    SessionActive as SessionActive,
)
from actum.base.errors import (
    SessionArchived as SessionArchived,
)
from actum.base.errors import (
    SessionBusy as SessionBusy,
)
from actum.base.errors import (
    SessionConflict as SessionConflict,
)
from actum.base.errors import (
    SessionEnded as SessionEnded,
)
from actum.base.errors import (
    SessionNotFound as SessionNotFound,
)
from actum.base.errors import (
    SessionPurged as SessionPurged,
)
from actum.base.errors import (
    StoreUnavailable as StoreUnavailable,
)
from actum.base.errors import (
    StreamNotConfigured as StreamNotConfigured,
)
from actum.base.errors import (
    SuccessorConflict as SuccessorConflict,
)
from actum.base.errors import (
    SuspensionConflict as SuspensionConflict,
)
from actum.base.errors import (
    SuspensionNotFound as SuspensionNotFound,
)
from actum.base.errors import (
    TerminalConflict as TerminalConflict,
)
from actum.base.errors import (
    TooLarge as TooLarge,
)
from actum.base.errors import (
    TranscriptError as TranscriptError,
)
from actum.base.errors import (
    UnknownItem as UnknownItem,
)
from actum.base.errors import (
    VersionMismatch as VersionMismatch,
)
from actum.base.value import Value as Value
from actum.engines.contract import (
    Completion as Completion,
)
from actum.engines.contract import (
    Engine as Engine,
)
from actum.engines.local import LocalEngine as LocalEngine
from actum.host.host import Host as Host
from actum.host.verify import verify as verify
from actum.host.verify_report import Check as Check
from actum.host.verify_report import (
    Damage as Damage,
)
from actum.host.verify_report import (
    Report as Report,
)
from actum.lifecycle.commands import (
    Appended as Appended,
)
from actum.lifecycle.commands import (
    Changed as Changed,
)
from actum.lifecycle.commands import (
    ChildRunStart as ChildRunStart,
)
from actum.lifecycle.commands import (
    OneShotChildRunStart as OneShotChildRunStart,
)
from actum.lifecycle.commands import (
    OneShotRunStart as OneShotRunStart,
)
from actum.lifecycle.commands import (
    Repaired as Repaired,
)
from actum.lifecycle.commands import (
    RepairResult as RepairResult,
)
from actum.lifecycle.commands import (
    RootRunStart as RootRunStart,
)
from actum.lifecycle.commands import (
    RunCancellation as RunCancellation,
)
from actum.lifecycle.commands import (
    RunStart as RunStart,
)
from actum.lifecycle.commands import (
    RunSuspension as RunSuspension,
)
from actum.lifecycle.commands import (
    RunTerminal as RunTerminal,
)
from actum.lifecycle.commands import (
    ScopeBehind as ScopeBehind,
)
from actum.lifecycle.commands import (
    Started as Started,
)
from actum.lifecycle.commands import (
    Taken as Taken,
)
from actum.lifecycle.states import (
    Run as Run,
)
from actum.lifecycle.states import (
    RunStatus as RunStatus,
)
from actum.lifecycle.states import (
    Session as Session,
)
from actum.lifecycle.states import (
    SessionStatus as SessionStatus,
)
from actum.lifecycle.states import (
    StartOutcome as StartOutcome,
)
from actum.lifecycle.states import (
    Suspension as Suspension,
)
from actum.loop.world import (
    RunRequest as RunRequest,
)
from actum.loop.world import (
    WorkflowContext as WorkflowContext,
)
from actum.memory.contract import (
    EntryStore as EntryStore,
)
from actum.memory.contract import (
    MemoryStore as MemoryStore,
)
from actum.memory.delivery import (
    Delivered as Delivered,
)
from actum.memory.delivery import (
    deliver_events as deliver_events,
)
from actum.memory.embedding import MiniLMEmbedder as MiniLMEmbedder
from actum.memory.entries import (
    EntrySource as EntrySource,
)
from actum.memory.entries import (
    FoundEntry as FoundEntry,
)
from actum.memory.entries import (
    MemoryEntry as MemoryEntry,
)
from actum.memory.entries import (
    MemoryScope as MemoryScope,
)
from actum.memory.entries import (
    StoredEntry as StoredEntry,
)
from actum.memory.events import (
    Annotation as Annotation,
)
from actum.memory.events import (
    EventType as EventType,
)
from actum.memory.events import (
    FoundEvent as FoundEvent,
)
from actum.memory.events import (
    MemoryEvent as MemoryEvent,
)
from actum.memory.events import (
    Snapshot as Snapshot,
)
from actum.memory.opening import (
    Memory as Memory,
)
from actum.memory.opening import (
    open_memory as open_memory,
)
from actum.memory.search import Embedder as Embedder
from actum.memory.toolset import memory_tools as memory_tools
from actum.memory.view import MemoryView as MemoryView
from actum.messages.message import (
    Message as Message,
)
from actum.messages.message import (
    Role as Role,
)
from actum.messages.message import (
    assistant as assistant,
)
from actum.messages.message import (
    system as system,
)
from actum.messages.message import (
    tool_results as tool_results,
)
from actum.messages.message import (
    user as user,
)
from actum.messages.parts import (
    CacheCheckpointPart as CacheCheckpointPart,
)
from actum.messages.parts import (
    CharRange as CharRange,
)
from actum.messages.parts import (
    ChunkRange as ChunkRange,
)
from actum.messages.parts import (
    Citation as Citation,
)
from actum.messages.parts import (
    CitationsPart as CitationsPart,
)
from actum.messages.parts import (
    DocumentPart as DocumentPart,
)
from actum.messages.parts import (
    ImagePart as ImagePart,
)
from actum.messages.parts import (
    PageRange as PageRange,
)
from actum.messages.parts import (
    Part as Part,
)
from actum.messages.parts import (
    TextPart as TextPart,
)
from actum.messages.parts import (
    ThinkingPart as ThinkingPart,
)
from actum.messages.parts import (
    ToolResultPart as ToolResultPart,
)
from actum.messages.parts import (
    ToolUsePart as ToolUsePart,
)
from actum.messages.parts import (
    tool_use as tool_use,
)
from actum.model.client import ModelClient as ModelClient
from actum.model.projection import Fate as Fate
from actum.model.projection import Projection as Projection
from actum.model.projection import ProjectionReport as ProjectionReport
from actum.model.request import (
    ModelRequest as ModelRequest,
)
from actum.model.request import (
    ModelSettings as ModelSettings,
)
from actum.model.request import (
    OutputSchema as OutputSchema,
)
from actum.model.request import (
    ToolChoice as ToolChoice,
)
from actum.model.response import Chunk as Chunk
from actum.model.response import CitationDelta as CitationDelta
from actum.model.response import (
    ModelResponse as ModelResponse,
)
from actum.model.response import RefusalDelta as RefusalDelta
from actum.model.response import ResponseStarted as ResponseStarted
from actum.model.response import StopChunk as StopChunk
from actum.model.response import (
    StopReason as StopReason,
)
from actum.model.response import TextDelta as TextDelta
from actum.model.response import ThinkingDelta as ThinkingDelta
from actum.model.response import ToolUseDelta as ToolUseDelta
from actum.model.response import (
    Usage as Usage,
)
from actum.model.response import UsageChunk as UsageChunk
from actum.model.wrap import CallTiming as CallTiming
from actum.model.wrap import RetryingModel as RetryingModel
from actum.model.wrap import TimedModel as TimedModel
from actum.planning.history import (
    CompressHistory as CompressHistory,
)
from actum.planning.history import (
    HistoryPolicy as HistoryPolicy,
)
from actum.planning.history import (
    KeepNewestTurns as KeepNewestTurns,
)
from actum.planning.history import (
    Past as Past,
)
from actum.planning.history import (
    Summary as Summary,
)
from actum.planning.history import (
    View as View,
)
from actum.planning.model_planner import ModelPlanner as ModelPlanner
from actum.planning.planner import (
    AwaitInput as AwaitInput,
)
from actum.planning.planner import (
    ModelUsage as ModelUsage,
)
from actum.planning.planner import (
    PlanInput as PlanInput,
)
from actum.planning.planner import (
    Planner as Planner,
)
from actum.planning.planner import (
    PlanResult as PlanResult,
)
from actum.planning.planner import (
    PlanResumeInput as PlanResumeInput,
)
from actum.planning.planner import Question as Question
from actum.planning.planner import (
    RunInfo as RunInfo,
)
from actum.planning.planner import (
    Unfinished as Unfinished,
)
from actum.planning.policy import (
    FixedCall as FixedCall,
)
from actum.planning.policy import (
    Limit as Limit,
)
from actum.planning.policy import (
    OnLimit as OnLimit,
)
from actum.planning.policy import (
    PolicyHook as PolicyHook,
)
from actum.planning.policy import (
    PolicyInput as PolicyInput,
)
from actum.planning.policy import (
    RunPolicy as RunPolicy,
)
from actum.planning.policy import (
    Terms as Terms,
)
from actum.planning.policy import (
    Tightening as Tightening,
)
from actum.planning.policy import (
    ToolRestriction as ToolRestriction,
)
from actum.planning.prompt import (
    Prompt as Prompt,
)
from actum.planning.prompt import (
    PromptRegistry as PromptRegistry,
)
from actum.planning.prompt import (
    PromptUse as PromptUse,
)
from actum.providers.accept import would_accept as would_accept
from actum.providers.interchange.formats import Exported as Exported
from actum.providers.interchange.formats import export_messages as export_messages
from actum.providers.interchange.formats import import_messages as import_messages
from actum.providers.interchange.reading import Imported as Imported
from actum.providers.pick import pick as pick
from actum.records.failures import (
    Failure as Failure,
)
from actum.records.failures import (
    FailureKind as FailureKind,
)
from actum.records.failures import (
    Issue as Issue,
)
from actum.records.failures import (
    Recovery as Recovery,
)
from actum.records.failures import (
    ToolFailure as ToolFailure,
)
from actum.records.failures import (
    ToolFailureKind as ToolFailureKind,
)
from actum.records.kinds import (
    Cancellation as Cancellation,
)
from actum.records.kinds import (
    PendingItem as PendingItem,
)
from actum.records.kinds import (
    PendingKind as PendingKind,
)
from actum.records.kinds import (
    Phase as Phase,
)
from actum.records.kinds import (
    payload_of as payload_of,
)
from actum.records.makers import (
    cancellation_intent as cancellation_intent,
)
from actum.records.makers import (
    child_run_linked as child_run_linked,
)
from actum.records.makers import (
    history_compressed as history_compressed,
)
from actum.records.makers import (
    input_answered as input_answered,
)
from actum.records.makers import (
    input_requested as input_requested,
)
from actum.records.makers import (
    model_responded as model_responded,
)
from actum.records.makers import (
    plan_decided as plan_decided,
)
from actum.records.makers import (
    planner_note as planner_note,
)
from actum.records.makers import (
    policy_decision as policy_decision,
)
from actum.records.makers import (
    prompt_rendered as prompt_rendered,
)
from actum.records.makers import (
    run_completed as run_completed,
)
from actum.records.makers import (
    run_phase_changed as run_phase_changed,
)
from actum.records.makers import (
    run_requested as run_requested,
)
from actum.records.makers import (
    run_started as run_started,
)
from actum.records.makers import (
    run_suspended as run_suspended,
)
from actum.records.makers import (
    tool_authorization as tool_authorization,
)
from actum.records.makers import (
    tool_call_scheduled as tool_call_scheduled,
)
from actum.records.makers import (
    tool_call_started as tool_call_started,
)
from actum.records.makers import (
    tool_result_received as tool_result_received,
)
from actum.records.makers import (
    transcript_messages_appended as transcript_messages_appended,
)
from actum.records.makers import (
    transcript_messages_seeded as transcript_messages_seeded,
)
from actum.records.makers import (
    turn_superseded as turn_superseded,
)
from actum.records.makers import (
    usage as usage,
)
from actum.records.record import (
    Follows as Follows,
)
from actum.records.record import (
    HistoryRef as HistoryRef,
)
from actum.records.record import (
    NewRecord as NewRecord,
)
from actum.records.record import (
    Page as Page,
)
from actum.records.record import (
    Record as Record,
)
from actum.records.types import (
    CANCELLATION_RECORD_TYPE as CANCELLATION_RECORD_TYPE,
)
from actum.records.types import (
    RecordType as RecordType,
)
from actum.runtime.agent import Agent as Agent
from actum.runtime.consent import (
    CallInQuestion as CallInQuestion,
)
from actum.runtime.consent import (
    ConfirmRule as ConfirmRule,
)
from actum.runtime.given import (
    Approval as Approval,
)
from actum.runtime.given import (
    PendingInput as PendingInput,
)
from actum.runtime.given import (
    PreparedRun as PreparedRun,
)
from actum.runtime.output import RunOutput as RunOutput
from actum.runtime.runtime import (
    AgentClient as AgentClient,
)
from actum.runtime.runtime import (
    RunHandle as RunHandle,
)
from actum.runtime.runtime import (
    Runtime as Runtime,
)
from actum.runtime.snapshots import CallSnapshot as CallSnapshot
from actum.runtime.snapshots import PromptRef as PromptRef
from actum.runtime.snapshots import RunSnapshot as RunSnapshot
from actum.runtime.snapshots import TurnSnapshot as TurnSnapshot
from actum.runtime.transcripts import build_messages_from_run_log as build_messages_from_run_log
from actum.runtime.typed import complete as complete
from actum.storage.contract import (
    OwnedStore as OwnedStore,
)
from actum.storage.contract import (
    SessionAdmin as SessionAdmin,
)
from actum.storage.contract import (
    Store as Store,
)
from actum.storage.local import LocalStore as LocalStore
from actum.storage.opening import open_store as open_store
from actum.stream.events import (
    AssistantDelta as AssistantDelta,
)
from actum.stream.events import (
    AssistantTurn as AssistantTurn,
)
from actum.stream.events import (
    ChildRunLinkedEvent as ChildRunLinkedEvent,
)
from actum.stream.events import (
    InputAnsweredEvent as InputAnsweredEvent,
)
from actum.stream.events import (
    InputRequestedEvent as InputRequestedEvent,
)
from actum.stream.events import (
    PromptRenderedEvent as PromptRenderedEvent,
)
from actum.stream.events import (
    RunStreamEnd as RunStreamEnd,
)
from actum.stream.events import (
    StreamEvent as StreamEvent,
)
from actum.stream.events import (
    ThinkingEvent as ThinkingEvent,
)
from actum.stream.events import (
    ToolAuthorizationEvent as ToolAuthorizationEvent,
)
from actum.stream.events import (
    ToolEnd as ToolEnd,
)
from actum.stream.events import (
    ToolStart as ToolStart,
)
from actum.stream.events import (
    ToolUpdate as ToolUpdate,
)
from actum.stream.events import (
    UsageEvent as UsageEvent,
)
from actum.stream.events import (
    WorkflowEvent as WorkflowEvent,
)
from actum.tools.call import ToolOutcome as ToolOutcome
from actum.tools.define import tool as tool
from actum.tools.failures import ToolError as ToolError
from actum.tools.spec import (
    ToolContext as ToolContext,
)
from actum.tools.spec import (
    ToolDefinition as ToolDefinition,
)
from actum.tools.spec import (
    ToolOutput as ToolOutput,
)
from actum.tools.spec import (
    ToolSpec as ToolSpec,
)
from actum.transcript.replay import replay_run_log_events as replay_run_log_events
from actum.transcript.turns import (
    keep_newest_turns as keep_newest_turns,
)
from actum.transcript.turns import (
    turns as turns,
)
from actum.transcript.validate import (
    open_calls as open_calls,
)
from actum.transcript.validate import (
    validate_bedrock as validate_bedrock,
)
from actum.transcript.validate import (
    validate_planner_transcript as validate_planner_transcript,
)

__version__: str
