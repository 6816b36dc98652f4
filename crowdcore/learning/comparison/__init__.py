"""Several results side by side."""
