"""Panels of judges, such as language models that judge the same items."""
