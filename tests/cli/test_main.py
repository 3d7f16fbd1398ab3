import subprocess
import sys


def test_help_loads_no_store_and_no_runtime() -> None:
    """`actum --help` is quick because a command imports what it needs when it runs."""
    code = (
        "import sys\nfrom actum.cli.main import app\n"
        "print([name for name in sys.modules if name.startswith(('pydantic', 'sqlite3', 'actum.storage', "
        "'actum.runtime', 'actum.host', 'actum.cli.demo'))])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"


def test_the_program_runs_as_a_module() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "actum.cli.main", "--help"], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("Usage:")
