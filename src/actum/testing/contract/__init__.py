"""Promises as tests, one class a subject. The modules `…_contract` beside this package put them together."""

import pytest

# These modules are no test files, so pytest would not show the values of a failing assertion.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{subject}"
        for subject in (
            "appends",
            "bounds",
            "cancellations",
            "children",
            "continuations",
            "deliveries",
            "ends",
            "engines",
            "entries",
            "events",
            "families",
            "faults",
            "heads",
            "lists",
            "owners",
            "purges",
            "repeats",
            "scenes",
            "searches",
            "sessions",
            "starts",
            "tenants",
            "transcripts",
            "variations",
        )
    )
)
