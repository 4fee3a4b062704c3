// What a section of the page is to Gradio and to other sections.

import type { PointData } from "../step/lines.py";
import type { Source } from "../stream.py";

/** Of a part of the page: its value is text. */
export interface Props {
  value: string | null;
}
export type Watch = (name: "value", heard: () => void) => void;
export type Trigger = (event: string, data?: object) => void;
/** What a section's module begins with; it returns what Gradio's event handlers and tests use. */
export type Start<Config> = (
  element: HTMLElement,
  props: Props,
  watch: Watch,
  trigger: Trigger,
  config: Config & { name: string },
) => unknown;
/** A run's place on the speed-up formula. where: target and machine. run: which one, where it was recorded. */
export interface NamedPoint extends PointData {
  name: string;
  source: Source;
  where?: string;
  run?: string;
}
