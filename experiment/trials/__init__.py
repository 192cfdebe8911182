"""What each kind of trial does between the start of a collector and its row."""
