"""What specviz assumes about Gradio beyond its documented API. The only module that knows it.

Every function here works on a Gradio that has changed: it then does less, and logs once what the
page loses. What the browser's half assumes about Gradio's page is in `ui/shared/15-gradio.css`,
`ui/shared/gradio.js` and `ui/shared/early.js`.

Gradio is imported inside the functions, since `skip_stub_files` must run before it is imported.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from specviz.adapters.warning import Patch, warn_once

if TYPE_CHECKING:
    import gradio as gr

# Addresses.
#
# Gradio serves its own routes below this prefix, and a proxy in front of it (its Node server, a
# Space) passes on only such paths, so ours begin with it too. No public attribute names it. If it
# changes, our routes still answer without a proxy; the routes below are open under new names.
API_PREFIX: Final = "/gradio_api"

# Routes that take files, fetch addresses, keep pages or count visits; Gradio has no option for most
# of them. If one is renamed it is open again. In lower case, without a slash at the end.
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

# Routes of events, whose bodies carry the values of the page's parts and so may be larger. If one
# is renamed, it takes the smaller bodies of all other routes.
EVENT_ROUTES: Final = (
    f"{API_PREFIX}/queue/join",
    f"{API_PREFIX}/run/",
    f"{API_PREFIX}/api/",
    f"{API_PREFIX}/call/",
)

# What Gradio's page needs of a Content-Security-Policy. If it needs more one day, the browser's
# console says so, and tests/browser/test_content_policy.py fails.
# Code from strings: gr.HTML compiles its template and `js_on_load`, and events their `js=`, with
# `new Function`.
SCRIPT_SOURCES: Final = ("'unsafe-eval'",)
# Svelte and plotly set style attributes, and both write <style> elements.
STYLE_SOURCES: Final = ("'unsafe-inline'",)
# On a Space, Gradio's page asks the Hub for the Space's name, likes and pictures.
SPACE_SOURCES: Final = ("https://huggingface.co", "https://*.huggingface.co")

# The page.
#
# Gradio adds a `head` of its own to the page only once it is running. What must run earlier is
# written into the HTML, behind the element that says what addresses are relative to.
BASE: Final = re.compile(rb"<base\b[^>]*>")
# The entry of a Dropdown's open list, by its position from 0: a CSS selector. No class can be set
# on an entry. If it matches nothing, lists show no headings and hide none of their entries.
LIST_ENTRY: Final = '.options li[data-index="{}"]'


def scroll_to_start(elem_id: str) -> str:
    """A `js=` handler that scrolls the Textbox with this id, drawn as a <textarea>, to its start.

    If it is drawn otherwise, nothing is scrolled.
    """
    return f"() => document.querySelector('#{elem_id} textarea')?.scrollTo({{ top: 0 }})"


def insert_head(page: bytes, head: bytes) -> bytes:
    """Write `head` into the HTML of Gradio's page, behind its <base>.

    Without a <base> the page is returned as it is: its first tab then loads its modules one after
    another, and `early.js` does not run.
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
# While Gradio is imported it parses the source of each component and compares it with the stub file
# beside it, which only editors read: half of the import's time, in a folder that the user may not
# be allowed to write. No setting turns that off. `skip_stub_files` replaces the function that does
# it. If the function or its module is gone, the app starts more slowly, or Gradio does it no more.
STUB_MODULE: Final = "gradio.component_meta"
STUB_FUNCTION: Final = "create_or_modify_pyi"
STUBS_WRITTEN: Final = (
    f"Gradio no longer has {STUB_MODULE}.{STUB_FUNCTION}: if it still writes its type stubs at "
    "every start, the app starts more slowly."
)


class StubSkipper(MetaPathFinder):
    """Import hook that replaces STUB_FUNCTION in STUB_MODULE by one that does nothing."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
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
    """Let Gradio be imported without writing its type stubs. Call it before Gradio is imported."""
    if "gradio" not in sys.modules:
        sys.meta_path.insert(0, StubSkipper())


def check_stub_files() -> None:
    """Log once if Gradio was imported and `skip_stub_files` found nothing to replace."""
    for finder in [each for each in sys.meta_path if isinstance(each, StubSkipper)]:
        sys.meta_path.remove(finder)
        warn_once(STUBS_WRITTEN)


def launch_arguments(launch: Callable[..., Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in `wanted` that this Gradio's `launch` takes; the others are logged once.

    All of them are documented; some came with a late version, and a later one may drop one.
    """
    parameters = inspect.signature(launch).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):  # `spaces` wraps it
        return dict(wanted)
    if unknown := sorted(wanted.keys() - parameters.keys()):
        warn_once(
            f"Gradio's launch no longer takes {', '.join(unknown)}: the app runs without what "
            "these set."
        )
    return {name: value for name, value in wanted.items() if name in parameters}


# Middleware.
#
# Gradio adds its own around those of `app_kwargs`: one answers every preflight request itself, and
# permits whatever origin asks where the Host is not loopback. A middleware that refuses hosts and
# origins must be outside of it, and is moved there while the app starts. If that fails, it still
# refuses all other requests.
NOT_FIRST: Final = (
    "Gradio's app builds its middleware differently now: Gradio answers preflight requests itself, "
    "for any host and origin, and their answers lack the security headers."
)


def put_first(app: Any, kind: type) -> None:
    """Move the middleware of this class outside of all others. Call it in the app's lifespan."""
    with Patch(NOT_FIRST):
        app.user_middleware.sort(key=lambda each: each.cls is not kind)
        app.middleware_stack = app.build_middleware_stack()


# Streams.
#
# The stream of a session that Gradio does not know, or has dropped, is one message that says so.
# Behind it Gradio raises its HTTPException 404, which comes too late to be an answer: the server
# logs a traceback and breaks the connection. If the error is raised differently, it does so again.
def is_lost_session(error: BaseException | None) -> bool:
    """Whether an error, or one that it comes from, is Gradio's for a session that is not here."""
    while error is not None:
        if getattr(error, "status_code", None) == 404:
            return True
        error = error.__cause__ or error.__context__
    return False


# The queue.
#
# Gradio's queue asks for new events every millisecond (every 50 on Windows), which keeps 6 % of a
# core busy on an idle server. The interval is an attribute that no setting reaches. If it is gone,
# the server idles at Gradio's own rate.
def poll_less_often(demo: gr.Blocks, event_seconds: float, progress_seconds: float) -> None:
    """Set how long the queue sleeps between two polls. Call it once the page has its queue.

    event_seconds: between polls for new events, of which an event waits half on average.
    progress_seconds: between polls for progress, which no function of this page reports.
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
# Gradio keeps the state of a closed session (about a megabyte, the text of its last runs) until
# `state_session_capacity` others came after it, and its unread messages until 2,000 did. Nothing
# public removes them. If a table is gone, sessions are kept until Gradio itself drops them.
KEPT_LONGER: Final = (
    "Gradio keeps its sessions differently now: closed ones stay in memory until it drops them."
)


def busy_sessions(demo: gr.Blocks) -> set[str] | None:
    """The sessions that have an event waiting or running; None where that cannot be known."""
    with Patch(KEPT_LONGER):
        events = demo._queue.event_ids_to_events
        return {event.session_hash for event in events.values() if event.session_hash}
    return None


# A call that names no session gets its own event's id for one. If that changes, each such call
# counts as a visitor of its own.
NO_SESSION: Final = "Gradio names sessions differently now: calls without one count as visitors."


def has_session(demo: gr.Blocks, session: str) -> bool:
    """Whether a call came with a session of its own: Gradio invents one for a call without."""
    with Patch(NO_SESSION):
        return session not in demo._queue.event_ids_to_events
    return True


def drop_session(demo: gr.Blocks, session: str) -> None:
    """Remove everything that Gradio keeps of a session which has no event under way."""
    with Patch(KEPT_LONGER):
        holder: Any = demo.state_holder
        with holder.lock:
            holder.session_data.pop(session, None)
            holder.time_last_used.pop(session, None)
    with Patch(KEPT_LONGER):
        queue: Any = demo._queue
        queue.pending_messages_per_session.pop(session, None)
        queue.pending_event_ids_session.pop(session, None)


# Events.
#
# Every event of a page can be called over HTTP, by its number too, with any values; Gradio then
# logs a traceback, and answers with the text of whatever was raised. `validator=` covers only
# events that have one, and only values that passed Gradio's own checks. So the two methods that
# every call goes through are wrapped. If they are gone, such calls end in Gradio's own messages.
UNEXPLAINED: Final = (
    "Gradio's Blocks no longer has the methods {} as they were: calls with unfit values end in "
    "Gradio's own error messages."
)
LONGEST: Final = 200  # characters of a message of Gradio's that is passed on
UNFIT: Final = "What was sent does not fit this part of the page. Reload it, and try again."
NO_FUNCTION: Final = "This event is the page's own: the server has no part in it."


def explain_errors(demo: gr.Blocks, explain: Callable[[Exception], str]) -> None:
    """Make every event call end in a result or in a gr.Error with one readable sentence.

    Values that do not fit are the caller's fault and leave nothing in the log. explain: gives the
    sentence for what an event's function raises, and logs it if it should be.
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
    """Wrap `Blocks.preprocess_data(block_fn, inputs, ...)`."""

    async def preprocess_data(*given: Any, **named: Any) -> Any:
        import gradio as gr

        _check_count(given, named)
        try:
            return await preprocess(*given, **named)
        except gr.Error as error:  # a value that is no choice, or out of bounds
            raise _refusal(_shortened(str(error.message))) from error
        except Exception as error:
            raise _refusal(UNFIT) from error

    return preprocess_data


def _check_count(given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raise gr.Error for an event without a function, and for a call with too few values."""
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
        raise _refusal(f"This call has too few values: {needed} are needed, not {count}.")


def _explaining(
    call: Callable[..., Any], explain: Callable[[Exception], str]
) -> Callable[..., Any]:
    """Wrap `Blocks.call_function`."""

    async def call_function(*given: Any, **named: Any) -> Any:
        try:
            return await call(*given, **named)
        except Exception as error:
            raise _refusal(explain(error)) from error

    return call_function


def _refusal(sentence: str) -> gr.Error:
    """An error that is shown to the caller and not logged. Lone surrogates cannot be sent."""
    import gradio as gr

    return gr.Error(sentence.encode("utf-8", "replace").decode(), print_exception=False)


def _shortened(sentence: str) -> str:
    """A message that quotes what was sent, cut to LONGEST characters."""
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…"


# Layout.
#
# A part of the page whose file is broken must take back the blocks that it has rendered: a block
# that is known and has no place in the layout makes the browser wait for ever. `unrender` is
# documented; which block is being filled, and what is in it, is not. If that is gone, the blocks
# stay, half a part above the sentence that says what is wrong.
def removal_point() -> Callable[[], None]:
    """Return a function that removes all blocks rendered after this call, at the same level."""
    loss = (
        "Gradio no longer says which blocks a part of the page has rendered: a part whose file is "
        "broken stays half on the page."
    )
    place: Any = None
    count = 0
    with Patch(loss):
        from gradio.context import Context

        if Context.block is not None:
            place, count = Context.block, len(Context.block.children)

    def remove() -> None:
        with Patch(loss):
            for block in place.children[count:] if place is not None else []:
                _remove(block)

    return remove


def _remove(block: Any) -> None:
    """Unrender a block and every block in it."""
    for inner in list(getattr(block, "children", [])):
        _remove(inner)
    block.unrender()
