"""Does a skill make an agent better, and do skills compose? The benchmarks of questions 3 and 4."""
