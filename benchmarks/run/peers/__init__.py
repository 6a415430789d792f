"""One file a peer, each run by its own interpreter: `python FILE WORK SETTINGS STEP`."""
