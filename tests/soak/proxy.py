"""A way to a server that can be cut and restored."""

import contextlib
import selectors
import socket
import threading


class Proxy:
    """Passes on what comes to a port of this machine, and what is answered.

    Parameters
    ----------
    address : str
        Of the server, as ``tcp://host:port``.
    """

    def __init__(self, address):
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        self.server = host, int(port)
        self.door = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.door.getsockname()[1]}"
        self.pairs, self.down, self.lock = [], False, threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            try:
                caller = self.door.accept()[0]
            except OSError:
                return  # closed
            with self.lock:
                if self.down:
                    caller.close()
                    continue
                pair = caller, socket.create_connection(self.server)
                self.pairs.append(pair)
            threading.Thread(target=_pass_on, args=pair, daemon=True).start()

    def cut(self):
        """Break all connections, and take no new ones."""
        with self.lock:
            self.down = True
            for pair in self.pairs:
                for end in pair:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
            self.pairs.clear()

    def restore(self):
        """Take connections again."""
        self.down = False

    def close(self):
        """Stop."""
        self.door.close()
        self.cut()


def _pass_on(*pair):
    """Pass on what either end of a connection says, until one of them has closed it."""
    with selectors.DefaultSelector() as ends, contextlib.suppress(OSError), pair[0], pair[1]:
        for end, other in (pair, pair[::-1]):
            ends.register(end, selectors.EVENT_READ, other)
        while True:
            for ready, _ in ends.select():
                said = ready.fileobj.recv(2**16)
                if not said:
                    return
                ready.data.sendall(said)
