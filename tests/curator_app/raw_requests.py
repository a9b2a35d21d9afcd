"""Requests that no browser would send: paths as they are written, headers twice, Streamlit's connection by hand."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

WAIT_S = 30
STREAM = "/_stcore/stream"


@dataclass(frozen=True)
class Answer:
    """What the server answered; headers by name in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def ask(
    port: int,
    method: str,
    target: str,
    *,
    cookie: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes | Iterator[bytes] | None = None,
) -> Answer:
    """Send one request with its target as it is written; Host and Origin are this server's unless they are given."""
    given = {name.lower() for name, _ in headers}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    own = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}", "Cookie": cookie}
    for name, value in own.items():
        if value is not None and name.lower() not in given:
            connection.putheader(name, value)
    for name, value in headers:
        connection.putheader(name, value.encode("latin-1"))
    if isinstance(body, bytes) and "content-length" not in given:
        connection.putheader("Content-Length", str(len(body)))
    chunked = body is not None and not isinstance(body, bytes)
    if chunked:
        connection.putheader("Transfer-Encoding", "chunked")
    try:
        # The server may answer, and close, before everything is sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.endheaders(body, encode_chunked=chunked)
        response = connection.getresponse()
        answered = b""
        with suppress(ConnectionResetError):
            answered = response.read()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, answered)
    finally:
        connection.close()


@contextmanager
def page_connection(port: int, cookie: str | None, *, tab: str | None = None) -> Iterator[ClientConnection]:
    """Open the connection of a page, as Streamlit's script does; `tab` is one to go on with."""
    protocols = ["streamlit", "xsrf", *([tab] if tab is not None else [])]
    with connect(
        f"ws://127.0.0.1:{port}{STREAM}",
        origin=f"http://127.0.0.1:{port}",  # type: ignore[arg-type]
        subprotocols=protocols,  # type: ignore[arg-type]
        additional_headers={"Cookie": cookie} if cookie else {},
        open_timeout=WAIT_S,
        max_size=None,
    ) as socket:
        yield socket


def draw_page(socket: ClientConnection, address: str = "") -> tuple[str, list[ForwardMsg]]:
    """Ask for a page to be drawn, and return the id of the tab and all messages until it is."""
    asked = BackMsg()
    asked.rerun_script.query_string = ""
    asked.rerun_script.page_name = address
    socket.send(asked.SerializeToString())
    tab, messages = "", []
    while True:
        message = ForwardMsg.FromString(socket.recv(timeout=WAIT_S))
        messages.append(message)
        if message.WhichOneof("type") == "new_session":
            tab = message.new_session.initialize.session_id
        if message.WhichOneof("type") == "script_finished":
            return tab, messages
