"""The store's promise as tests.

An implementation's test file is a fixture and a class line:

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def store(self) -> AsyncIterator[OwnedStore]:
            async with open_my_store() as store:
                yield store

The fixture `store` gives an empty store with both interfaces, workers' and host's. `FaultContract` asks for the fixture
`backend`, an empty backend under `LocalStore`, and proves what a database failure leaves behind. Both need pytest and
pytest-asyncio in its auto mode.
"""

from actum.testing.contract.appends import AppendPromises, OrderPromises, RecordRepeatPromises
from actum.testing.contract.bounds import IdentifierPromises, PayloadPromises, TextBoundPromises, TimePromises
from actum.testing.contract.cancellations import CancellationHistoryPromises, CancellationPromises
from actum.testing.contract.children import ChildPromises, OneShotChildPromises
from actum.testing.contract.continuations import ChildContinuationPromises, ContinuationPromises
from actum.testing.contract.deliveries import DeliveryPromises
from actum.testing.contract.ends import RepairPromises, SuspensionPromises, TerminalPromises
from actum.testing.contract.faults import FaultPromises
from actum.testing.contract.heads import HeadPromises, HistoryPromises
from actum.testing.contract.lists import LargePagePromises, PagePromises, ScopeListPromises, TypeFilterPromises
from actum.testing.contract.owners import FirstOwnerPromises, OwnerPromises, TakeRunPromises
from actum.testing.contract.purges import OneShotPurgePromises, PurgePromises
from actum.testing.contract.repeats import RepeatPromises
from actum.testing.contract.searches import RunListPromises, SessionListPromises
from actum.testing.contract.sessions import SessionPromises
from actum.testing.contract.starts import StartPromises, StartProofPromises, StopPromises
from actum.testing.contract.tenants import TenantPromises
from actum.testing.contract.transcripts import TranscriptPromises


class StoreContract:
    """All that a store promises, a class a subject; each shows as its own heading in pytest's report."""

    TestStarts = StartPromises
    TestStops = StopPromises
    TestStartProofs = StartProofPromises
    TestRepeats = RepeatPromises
    TestChildren = ChildPromises
    TestOneShotChildren = OneShotChildPromises
    TestContinuations = ContinuationPromises
    TestChildContinuations = ChildContinuationPromises
    TestHeads = HeadPromises
    TestHistories = HistoryPromises
    TestAppends = AppendPromises
    TestRecordRepeats = RecordRepeatPromises
    TestOrder = OrderPromises
    TestCancellations = CancellationPromises
    TestCancellationHistories = CancellationHistoryPromises
    TestTerminals = TerminalPromises
    TestSuspensions = SuspensionPromises
    TestRepairs = RepairPromises
    TestSessions = SessionPromises
    TestPurges = PurgePromises
    TestOneShotPurges = OneShotPurgePromises
    TestPages = PagePromises
    TestTypeFilters = TypeFilterPromises
    TestLargePages = LargePagePromises
    TestScopeLists = ScopeListPromises
    TestTranscripts = TranscriptPromises
    TestSessionLists = SessionListPromises
    TestRunLists = RunListPromises
    TestTenants = TenantPromises
    TestIdentifiers = IdentifierPromises
    TestTextBounds = TextBoundPromises
    TestPayloads = PayloadPromises
    TestTimes = TimePromises
    TestFirstOwners = FirstOwnerPromises
    TestTakingRuns = TakeRunPromises
    TestOwners = OwnerPromises
    TestDeliveries = DeliveryPromises


class FaultContract:
    """What a store over a backend promises about failures of its database."""

    TestFaults = FaultPromises
