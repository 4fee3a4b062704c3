// The measured runs that the Cost tab compares with its formula, as the component's value (JSON):
// the last run on Step, and a lane that Compare sent. A new lane is an event of its own.

import { measured } from "./store";
import { expect } from "./tabs";

import type { NamedPoint, Start } from "./section";

export const start: Start<{ event: string }> = (_element, props, _watch, trigger, { event }) => {
  const runs: Record<string, NamedPoint | null> = { step: null, compare: null };

  function write() {
    runs.step = measured.value ?? null;
    props.value = JSON.stringify(runs);
  }

  measured.on(write);
  write();
  expect("sv-runs", (lane: NamedPoint) => {
    runs.compare = lane;
    write();
    trigger(event, { lane });
  });
  return runs;
};
