"""Two rounds of labelling side by side."""
