"""Components of pages."""
