"""skill-health: is each skill well formed, honest and free of leaks?"""

__version__ = "0.1.0"
