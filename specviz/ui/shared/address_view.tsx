// An instrument's part of the page's address: a link that opens it or has values for it is sent to
// Python once, and so are the start of an instrument that is open at first, and values that another
// part of the page hands over; a link scrolls to the first part that it has values for. After a
// change, Python sends the values that differ from the initial
// ones. The address has them only while the instrument's tab is open, so that a link copied on
// another tab opens that tab. Python is also told when a text box has another text.

import { writeAddress } from "./address";
import { TEXT_BOX } from "./gradio";
import { focusWideTables } from "./page";
import { expect } from "./tabs";

import type { Start } from "./section";

let claimed = false; // whether a part above is scrolled to
const SETTLES = 5000; // ms in which parts above may still grow, unless the visitor does something

interface Config {
  event: string;
  parts: string[];
  keys: string[];
  wide: boolean;
}

export const start: Start<Config> = (element, props, watch, trigger, config) => {
  const { event, parts, keys, wide } = config;
  let values: Record<string, string | null> = {};
  let touched = false;
  let answered = false;
  let arrives = false;
  let untouched = true; // whether only links have set its controls
  const instrument = element.closest(".sv-instrument");

  function write() {
    const here = element.parentElement?.checkVisibility() ?? false;
    if (here && answered && arrives && instrument) {
      setTimeout(stay, SETTLES);
      if (instrument.getBoundingClientRect().top > innerHeight / 2) instrument.scrollIntoView();
    }
    const shown = (key: string) => (here && touched ? values[key] : null);
    writeAddress(Object.fromEntries(keys.map((key) => [key, shown(key) ?? null])));
  }

  const given = new URLSearchParams(location.search);
  const linked = keys.filter((key) => given.has(key));
  const named = (given.get("part") ?? "").split(" ").some((part) => parts.includes(part));
  if (named || wide || linked.length > 0) {
    touched = linked.length > 0;
    if (named || touched) [arrives, claimed] = [!claimed, true];
    const pairs = linked.map((key) => [key, given.get(key)]);
    values = Object.fromEntries(pairs);
    trigger(event, { values });
  }
  for (const part of parts)
    expect(part, (handed: Record<string, string>) => trigger(event, { values: handed }));
  let last: unknown;
  watch("value", () => {
    // An answer for the values before a link may arrive after the link's own.
    if (instrument && untouched && answered && props.value !== last) trigger("input");
    last = props.value;
    answered = true;
    values = JSON.parse(props.value ?? "{}");
    touched ||= Object.values(values).some((value) => value !== null);
    write();
  });
  const sizes = new ResizeObserver(write);
  sizes.observe(element);
  function stay() {
    arrives = false;
    sizes.unobserve(document.body);
  }
  if (arrives) {
    sizes.observe(document.body);
    for (const each of ["wheel", "touchmove", "keydown", "pointerdown"])
      document.addEventListener(each, stay, { once: true, capture: true, passive: true });
  }
  if (instrument) focusWideTables(instrument);
  const touch = () => {
    untouched = false;
  };
  for (const each of ["input", "click", "keydown"]) instrument?.addEventListener(each, touch, true);
  // Gradio's own event is sent with the whole text, and not at all if a text is pasted.
  instrument?.addEventListener("input", ({ target }) => {
    if ((target as Element).matches(TEXT_BOX)) setTimeout(() => trigger("input"));
  });
};
