"""The engine of paid runs, which both benchmarks share: journal, run folder, scheduler, budget, prices, HTTP."""
