"""Messages between a program and those it runs beside it: four bytes of length, then the message, both ways."""

from collections.abc import Callable
from typing import BinaryIO, Final

LENGTH_BYTES: Final = 4


def framed(message: bytes) -> bytes:
    """Return a message as it is sent."""
    return len(message).to_bytes(LENGTH_BYTES) + message


def serve(questions: BinaryIO, answers: BinaryIO, answer: Callable[[bytes], bytes]) -> None:
    """Answer questions until there are no more."""
    while True:
        head = questions.read(LENGTH_BYTES)
        if len(head) < LENGTH_BYTES:
            return
        answers.write(framed(answer(questions.read(int.from_bytes(head)))))
        answers.flush()
