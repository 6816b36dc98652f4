"""Helpers of tests and benchmarks: crowds with known faults, files of other tools, and the app in a browser."""
