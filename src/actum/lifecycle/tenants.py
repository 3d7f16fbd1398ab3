"""Rules for a store that is bound to one tenant: what it creates is the tenant's own."""

from actum.base import value
from actum.base.checks import refuse
from actum.lifecycle import commands as c


def for_tenant(command: c.Command, tenant: str) -> c.Command:
    """The command with the bound tenant filled in. Raises InvalidValue for another tenant."""
    match command:
        case c.CreateSession():
            _own("tenant", command.tenant, tenant)
            return value.replace(command, tenant=tenant)
        case c.OneShotRunStart():
            _own("run.tenant", command.run.tenant, tenant)
            return value.replace(command, run=value.replace(command.run, tenant=tenant))
        case _:
            return command


def _own(path: str, given: str | None, tenant: str) -> None:
    if given not in (None, tenant):
        raise refuse(path, given, "is the tenant that this store is bound to, or left out")
