"""The JSON-RPC side of the server: every request gets one reply, and the editor is never shown our faults.

Differs from the protocol class of pygls in what editors were seen to suffer from:

- a handler's synchronous part runs at receipt, before the next message is read, so that what it looks at is
  what the client had when it sent the request; it may return an awaitable that yields the result;
- malformed messages are answered (-32600, -32602, -32700), and so are requests that come too early or late;
- the document mirror of pygls is off (`velospec_lsp.documents` takes its place);
- nothing is written after the end, and nothing a message holds is written to a log.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams
from pygls.feature_manager import is_thread_function
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

logger = logging.getLogger(__name__)

_NOT_INITIALIZED = -32002
_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_INTERNAL_ERROR = -32603
_SETTLE_SECONDS = 1.0
_OWN_DOCUMENTS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)


class Protocol(LanguageServerProtocol):
    """One connection's protocol state. `exit_code` is None while the server is to go on."""

    exit_code: int | None = None
    _initialized = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ended = asyncio.Event()  # set when `exit_code` is

    def _register_builtin_features(self) -> None:
        super()._register_builtin_features()  # type: ignore[no-untyped-call]  # pygls leaves it untyped
        for method in _OWN_DOCUMENTS:
            self.fm.builtin_features.pop(method, None)

    def receive(self, body: bytes) -> None:
        """Handle one message as it came; never raises for what a client may have sent."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, _PARSE_ERROR, "The message is no JSON.")
            return
        if not _well_formed(message):
            identity = message.get("id") if isinstance(message, dict) else None
            self._refuse(
                identity if isinstance(identity, str | int) else None,
                _INVALID_REQUEST,
                "No JSON-RPC message.",
            )
            return
        if "method" in message and not self._timely(message):
            return
        try:
            structured = self.structure_message(message)
        except JsonRpcException as error:
            self._refuse_malformed(message, error)
            return
        self.handle_message(structured)

    def _timely(self, message: dict[str, Any]) -> bool:
        """Whether a request or notification comes between initialize and shutdown; if not, see to it."""
        method, request = message["method"], "id" in message
        if method == types.EXIT:
            return True
        if self._shutdown:
            if request:
                self._refuse(message["id"], _INVALID_REQUEST, "The server is shutting down.")
            return False
        if method == types.INITIALIZE:
            if self._initialized and request:
                self._refuse(message["id"], _INVALID_REQUEST, "The server is initialized already.")
            return not self._initialized
        if not self._initialized and request:
            self._refuse(message["id"], _NOT_INITIALIZED, "The server is not initialized yet.")
        return self._initialized

    def _refuse_malformed(self, message: dict[str, Any], error: JsonRpcException) -> None:
        if "method" not in message:  # a reply of the client's that does not have the shape it should have
            self._handle_response(message["id"], error=error.to_response_error())
        elif "id" in message:
            code = error.code or JsonRpcInvalidParams.CODE
            self._refuse(message["id"], code, f"The parameters of {message['method']} are malformed.")
        else:
            logger.warning("ignored a malformed %s", message["method"])

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message as a typed object. Raises JsonRpcInvalidParams, and logs nothing of the content."""
        kind = self._message_type(data)
        if "method" in data and self.get_message_type(data["method"]) is None:
            data = {"params": None, **data}  # the generic types insist on parameters
        try:
            return self._converter.structure(data, kind)
        except Exception as error:  # the converter raises whatever its hooks ran into
            raise JsonRpcInvalidParams from error

    def _message_type(self, data: dict[str, Any]) -> Any:
        if "method" in data:
            generic = super().structure_message({"jsonrpc": "2.0", "method": "", **_empty(data)})
            return self.get_message_type(data["method"]) or type(generic)
        if "error" in data:
            return types.ResponseErrorMessage
        generic = super().structure_message({"jsonrpc": "2.0", "id": "", "result": None})
        return self._result_types.pop(data["id"], None) or type(generic)

    def _refuse(self, identity: str | int | None, code: int, message: str) -> None:
        logger.warning("refused a message: %s", message)
        self._send_data({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}})

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        if (
            inspect.iscoroutinefunction(handler)
            or inspect.isgeneratorfunction(handler)
            or is_thread_function(handler)  # type: ignore[no-untyped-call]  # pygls leaves it untyped
        ):
            super()._execute_handler(msg_id, handler, callback, args, kwargs)
            return
        future: Any = Future()
        try:
            result = handler(*(args or ()), **(kwargs or {}))
            if inspect.isawaitable(result):
                future = asyncio.ensure_future(result)
                self._request_futures[msg_id] = future
            else:
                future.set_result(result)
        except Exception as error:  # noqa: BLE001  # whatever it is, it becomes the reply
            future.set_exception(error)
        future.add_done_callback(callback)

    def _send_handler_result(self, future: Future[Any], *, msg_id: str | int) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            self._request_futures.pop(msg_id, None)
            if isinstance(error, JsonRpcException):
                self._refuse(msg_id, error.code or _INTERNAL_ERROR, error.message or "")
            else:
                logger.error("a request failed", exc_info=error)
                self._refuse(msg_id, _INTERNAL_ERROR, f"Internal error ({type(error).__name__}).")
            return
        super()._send_handler_result(future, msg_id=msg_id)

    def _check_handler_result(self, future: Future[Any]) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            logger.error("a notification could not be handled", exc_info=error)

    def _send_data(self, data: Any) -> None:
        """Write one message; dropped once the client has gone."""
        if self.writer is None or self.exit_code is not None:
            return
        try:
            body = json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            logger.exception("a message could not be written")
            raise JsonRpcInternalError from error
        try:
            self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        except OSError:
            logger.warning("the client has gone")
            self.end(1)

    def end(self, code: int) -> None:
        """Stop serving; the first reason counts."""
        if self.exit_code is None:
            self.exit_code = code
            self.ended.set()

    def on_cancel(self, call: Callable[[], object]) -> None:
        """Have `call` called if the client cancels the request that is being handled.

        For handlers behind a built-in one, such as commands: the built-in one's reply is what is cancelled.
        """
        reply = self._request_futures.get(self.msg_id) if self.msg_id is not None else None
        if reply is not None:
            reply.add_done_callback(lambda done: call() if done.cancelled() else None)

    @property
    def finished(self) -> bool:
        """Whether the client has asked for shutdown, so that an end is no surprise."""
        return self._shutdown

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """As in pygls; what comes before is refused."""
        self._initialized = True
        return (yield from super().lsp_initialize(params))

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Let the server's own handler clean up, cancel the rest, and reply when all have their replies."""
        self._shutdown = True
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            handler(*args)
        rest = [future for identity, future in self._request_futures.items() if identity != self.msg_id]
        yield self._settle, (rest,), None

    async def _settle(self, futures: list[Any]) -> None:
        await asyncio.sleep(0)  # those that the handler has just seen to get their answers first
        for future in futures:
            future.cancel()
        if tasks := [future for future in futures if isinstance(future, asyncio.Future)]:
            await asyncio.wait(tasks, timeout=_SETTLE_SECONDS)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_args: Any) -> Generator[Any, Any, None]:
        """End with the code that the protocol asks for."""
        yield from ()  # pygls runs built-in methods as generators
        self.end(0 if self._shutdown else 1)


def _empty(data: dict[str, Any]) -> dict[str, Any]:
    return {"id": "", "params": None} if "id" in data else {"params": None}


def _well_formed(message: Any) -> bool:
    """Whether `message` is a request, notification or reply in shape, whatever its parameters."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    identity = message.get("id", 0)
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        return False
    if "method" in message:
        return isinstance(message["method"], str)
    return "id" in message and ("result" in message or "error" in message)
