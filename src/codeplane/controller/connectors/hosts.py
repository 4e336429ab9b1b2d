"""Which hosts a connector would contact, so that the gate can judge them before the call."""

from codeplane.controller.connectors.credentials import Origin
from codeplane.controller.connectors.openapi import hosts_of_specs
from codeplane.workspace.controller_settings import ConnectorSettings


def hosts_of(settings: ConnectorSettings, *, spec_url: str | None = None) -> tuple[str, ...]:
    """Return the hosts of a fetch: of a description when one is named, else of Jira; none when it is not configured."""
    if spec_url is not None:
        return hosts_of_specs(settings, spec_url.strip())
    return (Origin.of(settings.jira.base_url).host,) if settings.jira.base_url else ()
