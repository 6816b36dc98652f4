"""Analysis of numeric labels: bias and error of each worker, and the bias that the crowd shares."""
