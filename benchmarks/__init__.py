"""Speed and memory of skill-health, as ratios taken in one run: `python -m benchmarks`."""
