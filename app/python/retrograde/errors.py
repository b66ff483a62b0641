# SPDX-License-Identifier: Apache-2.0
"""What Retrograde refuses: one family of exceptions, with the words and the codes of the command line (docs/cli.md)."""
from __future__ import annotations

from typing import Any


class RetrogradeError(Exception):
    """What went wrong and what to do about it.

    message: that sentence. where: file, node, operator or shape; may be empty. code: the exit code that the command
    line would end with. answer: what it answered as JSON, where it was the command line and there was an answer.
    """

    code = 1

    def __init__(self, message: str, where: str = "", code: int | None = None, answer: Any = None) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message, self.where, self.answer = message, where, answer
        if code is not None:
            self.code = code


class UsageError(RetrogradeError, ValueError):
    """Something was asked for that there is not: an option, a target, a composite (2)."""

    code = 2


class InputError(RetrogradeError, ValueError):
    """A file, an operator or a shape is wrong or not supported (3)."""

    code = 3


class EngineError(RetrogradeError, ArithmeticError):
    """The engine could not finish: relevance that is no finite number, no plan within the budget (4)."""

    code = 4


class OutOfMemory(RetrogradeError, MemoryError):
    """More memory is needed than there is, or than may be used (4)."""

    code = 4


class OutputError(RetrogradeError, OSError):
    """A result could not be written, or there is no display (5)."""

    code = 5


class Cancelled(RetrogradeError):
    """Somebody stopped it (130)."""

    code = 130


def error_of(text: str, code: int | None = None, answer: Any = None) -> RetrogradeError:
    """The exception for an exit code of the command line."""
    kind = {2: UsageError, 3: InputError, 4: EngineError, 5: OutputError}.get(code or 1, RetrogradeError)
    return kind(text, code=code, answer=answer)
