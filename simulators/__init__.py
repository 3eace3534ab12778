"""Stand-ins for models and agents: they make up answers as a script says, so their figures say nothing about any skill.

They show the method in the demo and test it, and are no part of what is installed. Importing this package makes them
known beside the real ones: `scripted` among the routers, and among the agents.
"""

import os

from skill_health.effectiveness import agents
from skill_health.router import routers

for _package, _name in ((agents, "agents"), (routers, "routers")):
    _folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), _name)
    if _folder not in _package.__path__:
        _package.__path__.append(_folder)
