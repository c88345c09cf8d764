"""The one exception that ends the program with a chosen exit status and a one-line message."""

USAGE = 2  # the command line asks for something that cannot be
FILES = 3  # a file or an external program is missing, unreadable or wrong
RESOURCES = 5  # this machine or interpreter lacks something


class Failure(Exception):
    """An expected error: `message` is one line for the user, `status` the exit status."""

    def __init__(self, status: int, message: str):
        super().__init__(" ".join(message.split()))
        self.status = status
