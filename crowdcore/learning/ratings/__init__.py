"""Learning from numeric labels: a network that predicts ratings, and models of the workers who gave them."""
