"""Workers: their confusion matrices, distances, order and quality."""
