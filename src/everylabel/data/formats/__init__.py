"""One file a format, each with the same few functions (see `registry.Format`). Importing this imports none of them."""
