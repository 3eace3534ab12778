"""From a picture to SVG and PNG, in the colours of the page."""
