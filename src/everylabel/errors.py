"""The few kinds of error a user can cause. Each message says what was expected, what came, and what to do next."""


class EverylabelError(Exception):
    """Base of all errors that the command line prints without a traceback."""

    exit_code = 1


class DataError(EverylabelError):
    """Bad input data: names the file and the line where there is one."""

    exit_code = 3


class ConfigError(EverylabelError):
    """A setting that does not exist or has a value that cannot work."""

    exit_code = 4


class ModelError(EverylabelError):
    """A saved model that is damaged, from a newer version, or not a model at all."""

    exit_code = 5


class NotFittedError(EverylabelError):
    """A method was asked to rank before it was fitted."""


class StoreError(EverylabelError):
    """The database of decisions cannot be reached, read or written to; what was acknowledged before is in it."""

    exit_code = 6


class ClusterError(EverylabelError):
    """A cluster that cannot be reached, or has lost what was working; what was done before is kept."""

    exit_code = 7
