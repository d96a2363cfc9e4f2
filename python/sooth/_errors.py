"""Errors of the library, as exceptions with its messages."""

from __future__ import annotations

from typing import Mapping

from . import _library


class SoothError(Exception):
    """The message says what is wrong, where, and what to do; `code` is the exit code of the program."""

    code = 0


class AnswerIsNo(SoothError):
    """The answer is no: it does not fit, or it misses a target."""

    code = 1


class UsageError(SoothError, ValueError):
    """The request is invalid."""

    code = 2


class InputError(SoothError):
    """The file is damaged, truncated or not a model."""

    code = 3


class UnsupportedError(SoothError):
    """The file is valid but uses something unsupported."""

    code = 4


class SystemFailure(SoothError, OSError):
    """Out of memory, an unreadable file."""

    code = 5


_CLASSES = {c.code: c for c in (AnswerIsNo, UsageError, InputError, UnsupportedError, SystemFailure)}


def check(status: int, error: "_library.Error", subject: str = "", names: Mapping[str, str] = {}) -> None:
    """Raises the library's error if `status` is one. `names` maps temporary files to their real names."""
    if status == _library.OK:
        return
    message = error.message.decode("utf-8", "replace")
    for file, name in names.items():
        message = message.replace(file, name)
    is_named = not subject or message.startswith(f"{subject}: ")
    raise _CLASSES.get(status, SoothError)(message if is_named else f"{subject}: {message}")
