"""Scores against gold, calibration, and tests of one method against another."""
