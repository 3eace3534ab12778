"""One pipeline from paths to findings, its cache, fixes and baseline."""
