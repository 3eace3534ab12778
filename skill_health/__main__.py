"""`python -m skill_health`."""

import sys

from skill_health.cli import main

sys.exit(main())
