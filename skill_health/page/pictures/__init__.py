"""The pictures of the page, one per file: from the reports to a Vega-Lite specification with its table."""
