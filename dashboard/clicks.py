"""Clicks on download buttons that Streamlit loses while a page is drawn anew are not lost.

A button whose file is made on demand has another number in every run of the script. Streamlit

- forgets the number before as soon as the run ends. A browser that has not drawn the new button asks in vain;
- empties the queue of messages to the browser when a run begins. An answer to a click that waits there is gone, and
  the button waits for it for good.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager

TESTED = ("1.67",)  # releases of Streamlit whose internals these are
_SECONDS = 30.0  # for which a button that was drawn anew can still be clicked
_anew: OrderedDict[str, tuple[float, Callable[[], str]]] = OrderedDict()  # number -> since when, how to get another
_guard = threading.Lock()
_register, _execute, _clear = MediaFileManager.add_deferred, MediaFileManager.execute_deferred, ForwardMsgQueue.clear


def keep_clicks(version: str = streamlit.__version__) -> bool:
    """Patch Streamlit for both and return True; leave an untested release as it is, where a click may be lost."""
    if not version.startswith(tuple(f"{tested}." for tested in TESTED)):
        return False
    MediaFileManager.add_deferred = _registered  # type: ignore[method-assign, assignment]
    MediaFileManager.execute_deferred = _executed  # type: ignore[method-assign, assignment]
    ForwardMsgQueue.clear = _cleared  # type: ignore[method-assign, assignment]
    return True


def _registered(manager: MediaFileManager, *arguments: Any, **named: Any) -> str:
    """Register a button; its number stays valid for `_SECONDS`."""
    register = partial(_register, manager, *arguments, **named)
    number, now = register(), time.monotonic()
    with _guard:
        _anew[number] = now, register
        while next(iter(_anew.values()))[0] < now - _SECONDS:
            _anew.popitem(last=False)
    return number


def _executed(manager: MediaFileManager, file_id: str) -> str:
    """Make the file of a button under a new number without session, as a click has none; return its address."""
    _, another = _anew.get(file_id, (0.0, lambda: file_id))
    return _execute(manager, another())


def _cleared(queue: ForwardMsgQueue, **named: Any) -> None:
    """Empty the queue; answers stay where a run begins, and not where all has been sent."""
    answers = [message for message in queue._queue if message.WhichOneof("type") == "backend_operation_response"]
    _clear(queue, **named)
    begins, fragment = named.get("retain_lifecycle_msgs"), named.get("fragment_ids_this_run") is not None
    if begins and not fragment:  # a fragment leaves them there
        queue._queue += answers
