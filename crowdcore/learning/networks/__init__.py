"""Layers, likelihoods and networks that the methods are made of."""
