"""Results of training, on disk and for prediction."""
