"""The command line: one file a command. Nothing heavy is imported before a command runs, so that --help is quick."""
