"""What prepare.py and postprocess run under, so that each of their ends is one line and a documented exit status."""
