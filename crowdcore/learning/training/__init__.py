"""Training: data on the device, the loop over epochs, selection and checkpoints."""
