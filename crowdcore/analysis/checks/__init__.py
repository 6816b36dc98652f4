"""Rules that a crowd must keep, and whether it does: for continuous integration of annotation projects."""
