// The measured runs that the Cost tab compares with its formula, as the component's value (JSON):
// the last run on Step, and a lane that Compare sent. A new lane is an event of its own.

import { expect } from "./tabs";

import type { NamedPoint, Start } from "./section";

export const start: Start<{ event: string }> = (_element, props, _watch, trigger, { event }) => {
  const runs: Record<string, NamedPoint | null> = { step: null, compare: null };

  function write() {
    runs.step = window.specviz.measured ?? null;
    props.value = JSON.stringify(runs);
  }

  window.addEventListener("sv-measured", write);
  write();
  expect("sv-runs", (lane: NamedPoint) => {
    runs.compare = lane;
    write();
    trigger(event, { lane });
  });
};
