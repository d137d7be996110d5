"""What begins in a strict box: makes the socket that leads out, hands that out, becomes the agent.

Run as `python -I -S hand_over.py LINE PORT PROGRAM ARG…`. A socket that listens in the box's own
network is accepted on outside of it, so no relay runs in the box, and no file of a socket is in it.
"""

import _socket
import array
import os
import sys


def main() -> None:
    line, port, argv = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    out = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, line)
    rights = array.array("i", [listener.fileno()])
    out.sendmsg([b"!"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    out.close()
    listener.close()
    os.execvp(argv[0], argv)  # noqa: S606 - this is what the box is for


if __name__ == "__main__":
    main()
