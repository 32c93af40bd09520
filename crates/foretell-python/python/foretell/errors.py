"""Exceptions, one for each kind of error; the text is that of the command line.

All derive from :class:`Error` and have the ``kind`` that JSON output of the command line has. Where Python has an exception
for the same thing, it is a base too, so that ``except ValueError`` or ``except OSError`` catch what they should.
"""


class Error(Exception):
    """Anything that foretell refuses or cannot do."""

    kind: str = "error"


class UnknownNameError(Error, LookupError):
    """A name that is not in a catalogue; the nearest known one is named."""

    kind = "unknown-name"


class ParseError(Error, ValueError):
    """Text that cannot be read: a space, an architecture, a formula."""

    kind = "parse"


class OptionError(Error, ValueError):
    """An option or setting that cannot be honoured."""

    kind = "option"


class DataError(Error, ValueError):
    """Data that is not what it should be: tables, weights, labels."""

    kind = "data"


class InvalidArchitectureError(Error, ValueError):
    """An architecture that no network can be built from."""

    kind = "invalid-architecture"


class InfeasibleError(Error, ValueError):
    """Limits that nothing in the space meets."""

    kind = "infeasible"


class ReadError(Error, OSError):
    """A file that cannot be read."""

    kind = "read"


class WriteError(Error, OSError):
    """A file that cannot be written."""

    kind = "write"


class ExistsError(Error, FileExistsError):
    """A file or folder that is there already and would be replaced."""

    kind = "exists"


class OutOfMemoryError(Error, MemoryError):
    """A pass that would need more memory than it may have."""

    kind = "memory"


class NotDecoderError(Error, ValueError):
    """A decoding step of a network that is not a decoder."""

    kind = "not-decoder"


class StoreError(Error):
    """A store that cannot be used as it is."""

    kind = "store"


class CorruptStoreError(StoreError):
    """A store that is damaged."""

    kind = "store-corrupt"


class StoreVersionError(StoreError):
    """A store written by a newer release."""

    kind = "store-version"


class ForeignStoreError(StoreError):
    """A database that another program made."""

    kind = "store-foreign"


class BusyError(Error):
    """A study or folder that another process is writing."""

    kind = "busy"


class TakenOverError(Error):
    """A study that another process took over from this one."""

    kind = "taken-over"


class NotEvaluatedError(Error):
    """An evaluation that the machine ended; it says nothing about the network."""

    kind = "not-evaluated"


class DivergedError(Error, ArithmeticError):
    """A training run whose numbers left the finite ones."""

    kind = "diverged"


class InterruptedRunError(Error):
    """A training run that was asked to stop; its checkpoint is kept."""

    kind = "interrupted"


class CancelledError(Error):
    """Work that somebody stopped."""

    kind = "cancelled"


class CrashedError(Error):
    """A candidate whose scoring ends every process that tries it."""

    kind = "crashed"


class NotDefinedError(Error, ValueError):
    """A proxy that has no meaning for this network."""

    kind = "not-defined"


class DegenerateError(Error, ArithmeticError):
    """A proxy that was computed and says nothing: a gradient of exactly zero, a constant row, a singular kernel."""

    kind = "degenerate"


class NonFiniteError(Error, ArithmeticError):
    """A proxy whose value is not a finite number."""

    kind = "non-finite"


class NoWinnerError(Error):
    """A study in which nothing won."""

    kind = "no-winner"


class ModelError(Error, ValueError):
    """A torch module that cannot be run or read: no parameters, a batch that does not fit, a device that is not there."""

    kind = "model"


class SpaceError(Error, ValueError):
    """A function of a space that fails: it raises, gives no module, or asks for one name in two ways."""

    kind = "space"


class RoleError(Error, ValueError):
    """A proxy needs the role of a matrix that was not found; set it by ``roles``."""

    kind = "role"


class ForetellWarning(UserWarning):
    """What should be known and is no error: a damaged cache that is computed again, a proxy that is not cached."""


_KINDS: dict[str, type[Error]] = {}


def _collect(base: type[Error]) -> None:
    for derived in base.__subclasses__():
        _KINDS[derived.kind] = derived
        _collect(derived)


_collect(Error)


def of_kind(kind: str, message: str) -> Error:
    """The exception of a kind."""
    made = _KINDS.get(kind, Error)(message)
    made.kind = kind
    return made
