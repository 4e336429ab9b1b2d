"""`cpl` where the system says that every connection belongs to another user, or (TOLD=unknown) says nothing."""

import os
import sys
from functools import partial

from codeplane.surfaces.entry import main
from codeplane.surfaces.server import host
from codeplane.surfaces.server.access import Access

OTHER = None if os.environ.get("TOLD") == "unknown" else os.getuid() + 1
setattr(host, "Access", partial(Access, find_owner=lambda _client, _server: OTHER))  # noqa: B010 - a fake.

if __name__ == "__main__":
    sys.exit(main())
