"""Tickets of Jira and descriptions of HTTP interfaces, fetched through one kernel.

Invariants: no host is contacted that the settings do not name; a token goes only to the scheme, host and port it is
configured for; no answer is read beyond its limits of size and time; every failure is a `ConnectorError`; a token is
in no error, trace, cache file or result. It writes nothing except its cache, and sends nothing but GET requests.
"""
