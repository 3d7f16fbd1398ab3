"""What a process in one time zone stored, a process in another reads and repeats to the millisecond."""

import asyncio
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from actum.storage.opening import open_store
from tests.support.project import ROOT

# Rules are spelled out, so that no zone files are needed: the second one has daylight saving.
ZONES = ("UTC0", "EST5EDT,M3.2.0,M11.1.0", "IST-5:30", "ACT-12:45")
MOMENTS = (
    "2025-06-05T13:00:00+00:00",
    "2025-06-05T18:30:00.001+05:30",
    "2025-11-02T01:30:00-04:00",
    "2025-11-02T01:30:00-05:00",
    "0001-01-01T00:00:00+00:00",
    "9999-12-31T23:59:59.999+00:00",
)
PROGRAM = """
import asyncio, sys
from datetime import datetime
from actum.base.value import replace
from actum.storage.opening import open_store
from actum.testing import samples

async def main(url, moments):
    async with open_store(url) as store:
        await store.create_session("s1", samples.T0)
        start = samples.root("r1")
        await store.start_root_run(start)
        for n, moment in enumerate(moments):
            note = replace(samples.note(start, f"k{n}"), timestamp=datetime.fromisoformat(moment))
            print((await store.append_run_record(note)).inserted)

asyncio.run(main(sys.argv[1], sys.argv[2:]))
"""


def written_in(zone: str, url: str) -> list[str]:
    program = [sys.executable, "-c", PROGRAM, url, *MOMENTS]
    done = subprocess.run(
        program, cwd=ROOT, env={**os.environ, "TZ": zone}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


async def moments_of(url: str) -> list[datetime]:
    async with open_store(url) as store:
        return [each.timestamp for each in (await store.list_run_records("r1")).items[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("first", ZONES)
def test_no_zone_moves_an_instant(tmp_path: Path, first: str) -> None:
    url = f"sqlite:///{tmp_path}/actum.db"
    assert written_in(first, url) == ["True"] * len(MOMENTS)
    for other in ZONES:
        assert written_in(other, url) == ["False"] * len(MOMENTS)
    read = asyncio.run(moments_of(url))
    assert read == [datetime.fromisoformat(each) for each in MOMENTS]
    assert all(each.utcoffset() == timedelta(0) for each in read)
    assert read[3] - read[2] == timedelta(hours=1)
