"""An instrument: Gradio's controls, and one function that answers with sentences and figures.

An instrument is one file of Python. Its function takes the controls' values by name and returns the
outputs' values by name. It changes nothing and runs no model, so it does not wait in Gradio's
queue; if the visitor moves a control meanwhile, only the newest values are sent.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

import gradio as gr
import plotly.graph_objects as go

from specviz.ui.component import TabContext, component
from specviz.ui.live import PRIVATE

log = logging.getLogger(__name__)

Values = Mapping[str, Any]
Respond = Callable[[Values], Values]
Keys = Mapping[str, str | Sequence[str]]
FAILED: Final = "An error on the server ended this answer; the server's log has the details."
BEFORE: Final = "The results are for the values before."
RESULT: Final = "sv-result"  # CSS class of outputs, which are dimmed while they are out of date
# Words and signs without a meaning in Markdown; any other sign of ASCII may have one.
PLAIN: Final = re.compile(r"[^\W_]+|[,;%(?' ]+|(?<=\w)-(?=\w)|(?<=\d)\.(?=\d)|:(?= )|([!-~])")
DIRECT: Final[dict[str, Any]] = {**PRIVATE, "queue": False, "trigger_mode": "always_last"}


def figure(name: str, file: str) -> gr.HTML:
    """Return a component that shows a figure; its value is made by `shown`.

    It has an event `point` with the coordinates of a point that was clicked, `event_data.x` and
    `event_data.y`, and its `event_data.customdata`.
    """
    return component(name, "shared/figure_view", {"file": file, "event": "point"})


def shown(drawing: go.Figure, sentence: str) -> str:
    """Return a figure as the value of its component.

    sentence: what it shows, for people who cannot see it; it may be Markdown.
    """
    plain = unescape(sentence.replace("**", ""))
    return str(go.Figure(drawing).update_layout(meta=plain).to_json())


def verbatim(text: str) -> str:
    """Return a text, such as a visitor's, as Markdown that shows it unchanged on one line."""
    line = " ".join(text.split())
    return PLAIN.sub(lambda sign: f"&#{ord(sign[1])};" if sign[1] else sign[0], line)


class Instrument:
    """A part of a tab: its heading, its answer in one sentence, and below them what is behind it.

    Used as a context manager; components that are built in it are below the heading. events: events
    that are answered, besides those of the controls.
    """

    def __init__(
        self,
        place: TabContext,
        part: str,
        title: str,
        badge: str,
        first: str,
        *,
        wide: bool = False,
    ) -> None:
        """Build the heading.

        Args:
            place: Where the instrument is built.
            part: Its names in links, with spaces between them: `?part=NAME` opens it.
            title: Its heading.
            badge: Where its numbers come from, such as measured: a term of the glossary.
            first: Its answer for the initial values.
            wide: Whether it is open from the start.
        """
        self.place = place
        self.parts = part.split()
        self.part = self.parts[0]
        self.wide = wide
        name = f"sv-part-{self.part}"
        self.column = gr.Column(elem_classes="sv-section sv-instrument", elem_id=name)
        with self.column:
            label = f'<small data-term="{badge}" tabindex="0">{badge}</small>'
            heading = f"## {title} {label}"  # ours; sanitizing would remove the term
            gr.Markdown(heading, elem_classes="sv-instrument-title", sanitize_html=False)
            self.answer = gr.Markdown(first, elem_classes="sv-instrument-answer")
            self.fold = gr.Accordion(
                "Show details and controls", open=wide, elem_classes="sv-instrument-fold"
            )
            with self.fold:
                self.notice = gr.Markdown(visible=False, elem_classes="sv-notice")
                self.outdated = gr.Markdown(BEFORE, visible=False, elem_classes="sv-outdated")
        self.events: list[Any] = [self.fold.expand]

    def __enter__(self) -> Instrument:
        self.fold.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self.fold.__exit__(*failure)

    def wire(
        self,
        controls: Mapping[str, Any],
        outputs: Mapping[str, Any],
        respond: Respond,
        *,
        keys: Keys | None = None,
        shared: Mapping[str, Any] | None = None,
        js: str | None = None,
    ) -> None:
        """Answer whenever a visitor changes a control, and when the part is opened.

        Args:
            controls: Components by name; a gr.State among them keeps what the function returns.
            outputs: Components by name; "answer" is always one of them.
            respond: Returns the outputs' values; outputs that it leaves out keep theirs. It
                raises ValueError with a sentence for values that have no answer.
            keys: Names of controls by their keys in the page's address; a key with several names
                has their values in a list. A link with such a key opens the part with these
                values; the address has them once they were changed.
            shared: Controls of other instruments, whose values are also needed, by name.
            js: A JavaScript function that gets all values and returns those to be sent.
        """
        shared = shared or {}
        every = {**controls, **shared}
        named = {"answer": self.answer, **outputs}
        targets = [self.notice, self.outdated, *named.values()]
        for result in [each for each in named.values() if each not in every.values()]:
            result.elem_classes = [*(result.elem_classes or []), RESULT]
        linked = Linked(controls, keys or {})
        address = self._address(linked)
        targets.append(address)

        def answer(*values: Any) -> dict[Any, Any]:
            return answered(dict(zip(every, values, strict=True)))

        def answered(values: Values) -> dict[Any, Any]:
            try:
                found = respond(values)
            except ValueError as problem:
                return {**self._refused(problem), self.outdated: gr.Markdown(visible=True)}
            except Exception:
                log.exception("the instrument %s failed", self.part)
                failed = {self.notice: gr.Markdown(FAILED, visible=True)}
                return {**failed, self.outdated: gr.Markdown(visible=True)}
            answers = {named[name]: value for name, value in found.items()}
            hidden = dict.fromkeys((self.notice, self.outdated), gr.Markdown(visible=False))
            return {**hidden, address: linked.written(values), **answers}

        def opened(event: gr.EventData, *values: Any) -> dict[Any, Any]:
            read = linked.read(event.values)
            found = answered(dict(zip(every, values, strict=True)) | read)
            chosen = {controls[name]: value for name, value in read.items()}
            return {self.fold: gr.Accordion(open=True)} | _together(chosen, found)

        inputs = list(every.values())
        events = [*self.events, address.input, *_moves(controls)]
        common = {name: self.place.changes[name] for name in shared if name in self.place.changes}
        events += [control.change for name, control in shared.items() if name not in common]
        gr.on(events, answer, inputs, targets, js=js, **DIRECT)
        for event in {id(each): each for each in common.values()}.values():
            event.then(answer, inputs, targets, js=js, **DIRECT)
        self._answer = (answer, inputs, targets), js
        everything = dict.fromkeys([self.fold, *targets, *controls.values()])
        address.linked(opened, inputs, list(everything), js=js, **DIRECT)
        self._wired = every, list(dict.fromkeys([*targets, *inputs])), answered, js

    def _address(self, linked: Linked) -> gr.HTML:
        keys, wide = list(linked.keys), self.wide
        config = {"event": "linked", "parts": self.parts, "keys": keys, "wide": wide}
        with self.column:
            return component(f"sv-address-{self.part}", "shared/address_view", config)

    def _refused(self, problem: ValueError) -> dict[Any, Any]:
        return {self.notice: gr.Markdown(verbatim(str(problem)), visible=True)}

    def press(
        self,
        button: gr.Button,
        change: Callable[[Values], Values],
        others: Mapping[str, Any] | None = None,
    ) -> Any:
        """Set controls when a button is pressed, and answer for their new values.

        Returns its event, which the other instruments can follow. change: gets the values of all
        controls by name, and otherwise as that of `hear`.
        """
        return self.hear(button.click, lambda _, before: change(before), others)

    def hear(
        self,
        event: Any,
        change: Callable[[Any, Values], Values],
        others: Mapping[str, Any] | None = None,
    ) -> Any:
        """Set controls at an event of another component, and answer for their new values.

        Returns what the event's listener returned.

        Args:
            event: Such as the `point` of a figure.
            change: Gets the event's data and the values of all controls by name, and returns new
                ones. It raises ValueError with a sentence if there are none.
            others: Controls of other instruments that it may also set, by name.
        """
        every, targets, answered, js = self._wired
        known = {**every, **(others or {})}

        def heard(data: gr.EventData, *values: Any) -> dict[Any, Any]:
            before = dict(zip(every, values, strict=True))
            try:
                chosen = change(data, before)
            except ValueError as problem:
                return self._refused(problem)
            set_to = {known[name]: value for name, value in chosen.items()}
            return _together(set_to, answered({**before, **chosen}))

        targets = [*targets, *(others or {}).values()]
        return event(heard, list(every.values()), targets, js=js, **DIRECT)

    def follow(self, event: Any) -> None:
        """Answer again after another event, such as a button's, has set controls.

        event: what its listener returned.
        """
        answer, js = self._answer
        event.then(*answer, js=js, **DIRECT)


def _moves(controls: Mapping[str, Any]) -> list[Any]:
    # A text box has no `input` event if its text is pasted; the address has one then.
    silent = gr.Textbox | gr.State
    moves = [each.input for each in controls.values() if not isinstance(each, silent)]
    # A slider's button ↺ has no `input` event.
    return moves + [each.release for each in controls.values() if isinstance(each, gr.Slider)]


@dataclass(frozen=True, slots=True)
class Linked:
    """The controls whose values are in the page's address.

    keys: names of controls by their keys in the address.
    """

    controls: Mapping[str, Any]
    keys: Keys

    @property
    def start(self) -> dict[str, Any]:
        """The controls' initial values."""
        return {name: control.value for name, control in self.controls.items()}

    def read(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of a link that its controls can have; others keep their own."""
        found = {}
        for key in self.keys.keys() & given.keys():
            names, texts = self.keys[key], [str(given[key])]
            if not isinstance(names, str):
                texts = _split(texts[0])
            for name, text in zip(
                [names] if isinstance(names, str) else names, texts, strict=False
            ):
                value = _parsed(self.controls[name], text)
                if value is not None:
                    found[name] = value
        return found

    def written(self, values: Values) -> str:
        """Return the part of the address, as JSON: a text by key, or null.

        It is null for initial values, and for one that a link cannot restore.
        """
        return json.dumps({key: self._text(key, values) for key in self.keys})

    def _text(self, key: str, values: Values) -> str | None:
        given, start = self.keys[key], self.start
        names = [given] if isinstance(given, str) else given
        texts = [str(values[name]) for name in names]
        if all(values[name] == start[name] for name in names):
            return None
        if any(_parsed(self.controls[n], t) is None for n, t in zip(names, texts, strict=True)):
            return None
        joined = ",".join(texts)
        return joined if isinstance(given, str) or _split(joined) == texts else json.dumps(texts)


def _together(chosen: Mapping[Any, Any], found: Mapping[Any, Any]) -> dict[Any, Any]:
    # The answer may change other properties of these controls.
    both = {
        control: {"value": value, **found[control]}
        for control, value in chosen.items()
        if isinstance(found.get(control), dict)
    }
    return {**chosen, **found, **both}


def _split(text: str) -> list[str]:
    # A list in JSON, or with commas.
    if text.startswith("["):
        try:
            return [str(each) for each in json.loads(text)]
        except ValueError:
            return []
    return text.split(",")


def _parsed(control: Any, text: str) -> Any:
    choices = getattr(control, "choices", None)
    if choices:
        return next((value for _, value in choices if str(value) == text), None)
    if isinstance(control, gr.Checkbox):
        return {"1": True, "True": True, "0": False, "False": False}.get(text)
    if isinstance(control, gr.Slider | gr.Number):
        try:
            value = float(text)
        except ValueError:
            return None
        low, high = control.minimum, control.maximum
        inside = (low is None or value >= low) and (high is None or value <= high)
        return (int(value) if value.is_integer() else value) if inside else None
    return text
