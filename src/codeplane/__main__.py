"""Run the command line with `python -m codeplane`."""

import sys

from codeplane.surfaces.entry import main

sys.exit(main())
