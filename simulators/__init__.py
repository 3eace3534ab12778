"""Simulated models and agents, which make up answers by a script: their figures say nothing about any skill.

They demonstrate and test the method, and are not installed. Importing this package registers them beside the real ones,
as `scripted` among the routers and among the agents.
"""

import os

from skill_health.effectiveness import agents
from skill_health.router import routers

for _package, _name in ((agents, "agents"), (routers, "routers")):
    _folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), _name)
    if _folder not in _package.__path__:
        _package.__path__.append(_folder)
