"""Groups of workers who agree too much or push the same mistake, and what they do to the labels."""
