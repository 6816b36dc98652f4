"""What tests and benchmarks share: crowds with known faults, files of other tools, and the app in a browser."""
