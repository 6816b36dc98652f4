"""What training returns, on disk and for prediction."""
