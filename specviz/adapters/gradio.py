"""All uses of undocumented behaviour of Gradio.

If Gradio changes, the functions still run, but have less effect; a warning says what the page
loses. Assumptions of the browser's code about Gradio's page are in `ui/shared/15-gradio.css`,
`ui/shared/gradio.ts` and `ui/shared/early.ts`.

Gradio is imported inside the functions, because `skip_stub_files` must run before its import.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from specviz.adapters import Patch, warn_once

if TYPE_CHECKING:
    import gradio as gr

# Addresses.
#
# Gradio serves its own routes below this prefix, and a proxy in front of it (its Node server, a
# Space) forwards only such paths, so specviz's routes begin with it too. No public attribute
# contains it. If it changes, these routes still work without a proxy, but the routes closed below
# are open again.
API_PREFIX: Final = "/gradio_api"

# Routes that accept files, fetch addresses, store pages or count visits; for most, Gradio has no
# option. In lower case, without a trailing slash. If Gradio renames one, it is open again.
CLOSED_ROUTES: Final = frozenset(
    {
        f"{API_PREFIX}/upload",
        f"{API_PREFIX}/process_recording",
        f"{API_PREFIX}/deep_link",
        "/monitoring",
        "/monitoring/summary",
        f"{API_PREFIX}/monitoring/summary",
    }
)
CLOSED_PREFIXES: Final = (
    f"{API_PREFIX}/file=http",
    f"{API_PREFIX}/file/http",
    f"{API_PREFIX}/proxy=",
    "/proxy=",
    "/file=http",
    "/monitoring/",
)

# Routes of events. Their bodies contain the values of the page's components, so they may be larger.
# If Gradio renames a route, the smaller size limit of all other routes applies to it.
EVENT_ROUTES: Final = (
    f"{API_PREFIX}/queue/join",
    f"{API_PREFIX}/run/",
    f"{API_PREFIX}/api/",
    f"{API_PREFIX}/call/",
)

# Sources that Gradio's page needs in a Content-Security-Policy. If it needs more in the future, the
# browser logs a violation and tests/browser/test_content_policy.py fails.
# Gradio compiles strings with `new Function`: the template and `js_on_load` of gr.HTML, and the
# `js=` of events.
SCRIPT_SOURCES: Final = ("'unsafe-eval'",)
# Svelte and plotly set style attributes and write <style> elements.
STYLE_SOURCES: Final = ("'unsafe-inline'",)
# On a Space, Gradio's page requests the Space's name, likes and pictures from the Hub.
SPACE_SOURCES: Final = ("https://huggingface.co", "https://*.huggingface.co")

# The page.
#
# Gradio adds its `head` argument to the page only once the page is running. Scripts that must run
# earlier are written into the HTML, after the <base> element, which changes relative addresses.
BASE: Final = re.compile(rb"<base\b[^>]*>")
# CSS selector of an entry in a Dropdown's open list, by its index from 0, because entries have no
# class. If it matches nothing, lists show no headings and hide no entries.
LIST_ENTRY: Final = '.options li[data-index="{}"]'


def scroll_to_start(elem_id: str) -> str:
    """Return a `js=` handler that scrolls the <textarea> of a Textbox to its start."""
    return f"() => document.querySelector('#{elem_id} textarea')?.scrollTo({{ top: 0 }})"


def insert_head(page: bytes, head: bytes) -> bytes:
    """Write `head` into the HTML of Gradio's page, after its <base>.

    Without a <base> the page is returned unchanged: its first tab then loads its modules one after
    another, and `early.ts` does not run.
    """
    written, count = BASE.subn(lambda base: base[0] + head, page, count=1)
    if not count:
        warn_once(
            "Gradio's page has no <base> element: its head lacks the early script and the module "
            "preloads, so the page opens more slowly."
        )
    return written


# Starting.
#
# During its import, Gradio parses the source of each component and compares it with a stub file for
# editors. This takes half of the import time and may write to a folder without write permission. No
# setting disables it, so `skip_stub_files` replaces the function. If the function or its module no
# longer exists, the app starts more slowly, unless Gradio no longer writes stub files.
STUB_MODULE: Final = "gradio.component_meta"
STUB_FUNCTION: Final = "create_or_modify_pyi"
STUBS_WRITTEN: Final = (
    f"Gradio no longer has {STUB_MODULE}.{STUB_FUNCTION}: if it still writes its type stubs at "
    "every start, the app starts more slowly."
)


class StubSkipper(MetaPathFinder):
    """Import hook that replaces STUB_FUNCTION in STUB_MODULE with one that does nothing."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Implement `importlib.abc.MetaPathFinder.find_spec`."""
        if name != STUB_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        with Patch(STUBS_WRITTEN):
            loader: Any = spec.loader if spec else None
            run = loader.exec_module

            def run_without_stubs(module: ModuleType) -> None:
                run(module)
                if hasattr(module, STUB_FUNCTION):
                    setattr(module, STUB_FUNCTION, lambda *_, **__: None)
                else:
                    warn_once(STUBS_WRITTEN)

            loader.exec_module = run_without_stubs
        return spec


def skip_stub_files() -> None:
    """Prevent Gradio's import from writing type stubs. Call it before Gradio is imported."""
    if "gradio" not in sys.modules:
        sys.meta_path.insert(0, StubSkipper())


def check_stub_files() -> None:
    """Log once if Gradio was imported but `skip_stub_files` found nothing to replace."""
    for finder in [each for each in sys.meta_path if isinstance(each, StubSkipper)]:
        sys.meta_path.remove(finder)
        warn_once(STUBS_WRITTEN)


def launch_arguments(launch: Callable[..., Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return those `wanted` arguments that the installed Gradio's `launch` accepts; log others."""
    parameters = inspect.signature(launch).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):  # as `spaces` wraps it
        return dict(wanted)
    if unknown := sorted(wanted.keys() - parameters.keys()):
        warn_once(
            f"Gradio's launch no longer takes {', '.join(unknown)}: the app runs without them."
        )
    return {name: value for name, value in wanted.items() if name in parameters}


# Middleware.
#
# Gradio wraps the middleware of `app_kwargs` in its own, which answers every preflight request and
# permits any origin if the Host is not loopback. So the middleware that rejects hosts and origins
# is moved outside it while the app starts. If that fails, it still rejects all other requests.
NOT_FIRST: Final = (
    "Gradio's app now builds its middleware differently: Gradio answers preflight requests itself, "
    "for any host and origin, and their answers lack the security headers."
)


def put_first(app: Any, kind: type) -> None:
    """Move the middleware of this class outside all others. Call it in the app's lifespan."""
    with Patch(NOT_FIRST):
        app.user_middleware.sort(key=lambda each: each.cls is not kind)
        app.middleware_stack = app.build_middleware_stack()


# Streams.
#
# The stream of an unknown or dropped session consists of one message that says so. Gradio then
# raises an HTTPException 404, too late for a response: the server would log a traceback and break
# the connection. If Gradio raises another error, this happens again.
def is_lost_session(error: BaseException | None) -> bool:
    """Return whether an error, or one of its causes, is Gradio's error for an unknown session."""
    while error is not None:
        if getattr(error, "status_code", None) == 404:
            return True
        error = error.__cause__ or error.__context__
    return False


# The queue.
#
# Gradio's queue polls for new events every millisecond (every 50 on Windows), which keeps 6% of a
# core busy on an idle server. The interval is an attribute without a setting. If it no longer
# exists, the server polls at Gradio's own rate.
def poll_less_often(demo: gr.Blocks, event_seconds: float, progress_seconds: float) -> None:
    """Poll Gradio's queue less often. Call it once the page has its queue.

    Args:
        demo: The page.
        event_seconds: Seconds between polls for new events; an event waits half of it on average.
        progress_seconds: Seconds between polls for progress, which this page never reports.
    """
    queue = getattr(demo, "_queue", None)
    intervals = {
        "sleep_when_free": event_seconds,
        "progress_update_sleep_when_free": progress_seconds,
    }
    missing = [name for name in intervals if not hasattr(queue, name)]
    if missing:
        lost = " and ".join(missing)
        warn_once(
            f"Gradio's queue no longer has {lost}: the idle server polls at Gradio's own rate."
        )
    with Patch("Gradio's queue cannot be slowed down: the idle server polls at its own rate."):
        for name in intervals.keys() - set(missing):
            setattr(queue, name, intervals[name])


# Sessions.
#
# Gradio keeps the state of a closed session (about a megabyte: the text of its last runs) until
# there are `state_session_capacity` newer sessions, and its unread messages until there are 2,000.
# No public function removes them. If a table no longer exists, sessions stay until Gradio drops
# them.
KEPT_LONGER: Final = (
    "Gradio now stores sessions differently: closed ones stay in memory until Gradio drops them."
)


# Every open page keeps a request to this route open, so that Gradio notices when it is closed. If
# Gradio renames it, closed pages are not noticed.
HEARTBEATS: Final = f"{API_PREFIX}/heartbeat/"


def heartbeat_session(path: str) -> str | None:
    """Return the session whose heartbeat a path is, or None if it is another path."""
    return path[len(HEARTBEATS) :].strip("/") or None if path.startswith(HEARTBEATS) else None


def check_heartbeats(app: Any) -> None:
    """Log once if the app of Gradio has no route of heartbeats."""
    with Patch(KEPT_LONGER):
        if app.url_path_for("heartbeat", session_hash="one") != f"{HEARTBEATS}one":
            warn_once(KEPT_LONGER)


def busy_sessions(demo: gr.Blocks) -> set[str] | None:
    """Return the sessions that have an event waiting or running, or None if unknown."""
    with Patch(KEPT_LONGER):
        events = demo._queue.event_ids_to_events
        return {event.session_hash for event in events.values() if event.session_hash}
    return None


# Clients read the results of calls from streams at these addresses, of a session or of an event. A
# call without a session gets its event's id as session. If that changes, calls do not end when
# nobody reads them.
RESULTS: Final = f"{API_PREFIX}/queue/data"
EVENT_RESULTS: Final = f"{API_PREFIX}/call/"
UNKNOWN_READERS: Final = (
    "Gradio now sends results differently: calls of the API do not end when nobody reads them."
)


def result_session(app: Any, path: str, query: Mapping[str, str]) -> str | None:
    """Return the session whose results a GET request reads, or None if it reads none.

    Args:
        app: The app of Gradio.
        path: The path of the request.
        query: Its query.
    """
    if path == RESULTS:
        return query.get("session_hash")
    if not path.startswith(EVENT_RESULTS):
        return None
    event = path.rstrip("/").rpartition("/")[2]
    with Patch(UNKNOWN_READERS):
        events = app.get_blocks()._queue.event_ids_to_events
        return str(events[event].session_hash) if event in events else event
    return event


def knows_readers(app: Any) -> bool:
    """Return whether `result_session` recognizes the streams of this app; log once if not."""
    with Patch(UNKNOWN_READERS):
        of_event = app.url_path_for("simple_predict_get", api_name="run", event_id="one")
        if app.url_path_for("queue_data") == RESULTS and of_event.startswith(EVENT_RESULTS):
            app.get_blocks()._queue.event_ids_to_events  # noqa: B018, it must exist
            return True
        warn_once(UNKNOWN_READERS)
    return False


def drop_session(demo: gr.Blocks, session: str) -> None:
    """Remove all state that Gradio stores for a session that has no running events."""
    with Patch(KEPT_LONGER):
        holder: Any = demo.state_holder
        with holder.lock:
            holder.session_data.pop(session, None)
            holder.time_last_used.pop(session, None)
    with Patch(KEPT_LONGER):
        queue: Any = demo._queue
        queue.pending_messages_per_session.pop(session, None)
        queue.pending_event_ids_session.pop(session, None)


# For its links to a saved page, which are closed here, Gradio copies the config of every block when
# a session sends its first event. This takes 26 ms on the event loop, so forty visitors who begin
# together would stop everybody for a second. A state that finds no blocks copies nothing, and adds
# a block's config when its value changes.
SLOW_SESSIONS: Final = (
    "Gradio now builds the state of a session differently: each visitor's first event delays all "
    "others by some 26 ms."
)


def skip_session_configs() -> None:
    """Prevent Gradio from copying the config of the whole page for every session."""
    with Patch(SLOW_SESSIONS):
        from gradio import state_holder

        plain: Any = state_holder.SessionState

        def build_state(blocks: Any) -> Any:
            with Patch(SLOW_SESSIONS):
                found = plain(SimpleNamespace(default_config=blocks.default_config, blocks={}))
                found.config_values  # noqa: B018, it must exist
                return found
            return plain(blocks)

        if isinstance(plain, type):
            setattr(state_holder, "SessionState", build_state)  # noqa: B010, mypy knows a class


# Sliders.
#
# A visitor who types another number beside a slider empties its box first. Gradio compares None
# with the slider's range, which fails, and marks all outputs of the event with an error.
EMPTY_SLIDERS: Final = (
    "Gradio's Slider no longer has the expected method `preprocess`: an empty number beside a "
    "slider ends in Gradio's own error."
)


def pass_empty_sliders() -> None:
    """Pass None to an event's function for a slider whose number is empty."""
    with Patch(EMPTY_SLIDERS):
        import gradio as gr

        plain: Any = gr.Slider.preprocess

        def preprocess(slider: gr.Slider, payload: float | None) -> Any:
            return None if payload is None else plain(slider, payload)

        setattr(gr.Slider, "preprocess", preprocess)  # noqa: B010, mypy knows a method


# Events.
#
# Every event of a page can be called over HTTP with any values, even by its fn_index. If such a
# call fails, Gradio logs a traceback and responds with the text of the exception. `validator=`
# covers only events with a validator, and only values that pass Gradio's checks. So the two methods
# that handle every call are wrapped. Without these methods, Gradio's own messages are shown.
UNEXPLAINED: Final = (
    "Gradio's Blocks no longer has the expected methods {}: calls with invalid values end in "
    "Gradio's own error messages."
)
MAX_MESSAGE: Final = 200  # maximum characters of a message of Gradio
INVALID: Final = "These values do not fit this part of the page. Reload it and try again."
NO_FUNCTION: Final = "This event runs in the browser only. The server cannot run it."


def explain_errors(demo: gr.Blocks, explain: Callable[[Exception], str]) -> None:
    """Make every event call return a result or a gr.Error whose message is a sentence.

    Invalid values are not logged.

    Args:
        demo: The page.
        explain: Returns the sentence for an exception of an event's function, and may log it.
    """
    wrappers = {
        "preprocess_data": _checking,
        "call_function": lambda call: _explaining(call, explain),
    }
    methods = {name: getattr(demo, name, None) for name in wrappers}
    usable = [name for name in wrappers if inspect.iscoroutinefunction(methods[name])]
    if missing := [name for name in wrappers if name not in usable]:
        warn_once(UNEXPLAINED.format(" and ".join(missing)))
    for name in usable:
        setattr(demo, name, wrappers[name](methods[name]))


def _checking(preprocess: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Blocks.preprocess_data(block_fn, inputs, ...)`; invalid values raise gr.Error."""

    async def preprocess_data(*given: Any, **named: Any) -> Any:
        import gradio as gr

        _check_count(given, named)
        try:
            return await preprocess(*given, **named)
        except gr.Error as error:  # the value is not one of the choices, or out of range
            raise _refusal(_shortened(str(error.message))) from error
        except Exception as error:
            raise _refusal(INVALID) from error

    return preprocess_data


def _check_count(given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raise gr.Error if the event has no function, or the call has too few values."""
    arguments = dict(zip(("block_fn", "inputs"), given, strict=False)) | dict(named)
    try:
        event, values = arguments["block_fn"], arguments["inputs"]
        has_function, needed, count = event.fn is not None, len(event.inputs), len(values)
    except (LookupError, AttributeError, TypeError):
        warn_once(UNEXPLAINED.format("preprocess_data"))
        return
    if not has_function:
        raise _refusal(NO_FUNCTION)
    if count < needed:
        raise _refusal(f"This call has too few values: it has {count} and needs {needed}.")


def _explaining(
    call: Callable[..., Any], explain: Callable[[Exception], str]
) -> Callable[..., Any]:
    """Wrap `Blocks.call_function`; its exceptions become gr.Errors with a sentence."""

    async def call_function(*given: Any, **named: Any) -> Any:
        try:
            return await call(*given, **named)
        except Exception as error:
            raise _refusal(explain(error)) from error

    return call_function


def _refusal(sentence: str) -> gr.Error:
    """Return an error that is shown to the caller but not logged; lone surrogates are replaced."""
    import gradio as gr

    return gr.Error(sentence.encode("utf-8", "replace").decode(), print_exception=False)


def _shortened(sentence: str) -> str:
    """Shorten a message that quotes the caller's values to MAX_MESSAGE characters."""
    return sentence if len(sentence) <= MAX_MESSAGE else f"{sentence[: MAX_MESSAGE - 1]}…"


# Layout.
#
# If a part of the page fails because its file is damaged, its blocks must be removed: the browser
# waits forever for a block that exists but is not in the layout. `unrender` is documented, but the
# current block and its children are not. If they no longer exist, half of the part remains above
# the error message.
def removal_point() -> Callable[[], None]:
    """Return a function that removes all blocks that were added after this call, at this level."""
    loss = (
        "Gradio no longer reports which blocks a part of the page has rendered: a part whose file "
        "is damaged remains half visible."
    )
    parent: Any = None
    count = 0
    with Patch(loss):
        from gradio.context import Context

        if Context.block is not None:
            parent, count = Context.block, len(Context.block.children)

    def remove() -> None:
        with Patch(loss):
            for block in parent.children[count:] if parent is not None else []:
                _remove(block)

    return remove


def _remove(block: Any) -> None:
    """Unrender a block and every block in it."""
    for inner in list(getattr(block, "children", [])):
        _remove(inner)
    block.unrender()
