"""What a trained run or a simulation says about confusions and the noise source."""
