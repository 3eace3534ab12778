"""The engine of paid runs, shared by both benchmarks: journal, run folder, scheduler, budget, prices, HTTP."""
