// What the page's own script and plotly's put on the window. A section's public face is for
// Gradio's event handlers and for tests, which are not checked here: its members are not told.

interface Window {
  specviz: {
    players?: Record<string, import("./section").Section>;
    races?: Record<string, import("./section").Section>;
    jobs?: Record<string, import("./section").Section>;
    sandbox?: object;
    coins?: object;
    wild?: object;
    grow?: object;
    lesson?: object;
    handed?: Record<string, object>;
    /** The last run on Step, once it has a place on the speed law. */
    measured?: import("./section").NamedPoint | null;
  };
  Plotly: import("./plotly").Plotly;
}

/** What the open tab says of a link: that there is none, or that it opens something else. */
interface LinkDetail {
  problem: string;
  note: string;
  /** Keys of the address that the link does without. */
  without: string[];
}

interface WindowEventMap {
  /** Something was handed to the part of this name. */
  "sv-handed": CustomEvent<string>;
  /** The link to what is on screen is about to be copied. */
  "sv-link": CustomEvent<LinkDetail>;
  "sv-measured": Event;
  /** Another language was chosen. */
  "sv-language": Event;
  /** A lesson is opened at a step. */
  "sv-lesson": CustomEvent<{ id: string; at: number }>;
  /** The plan of a class of this many minutes is opened. */
  "sv-plan": CustomEvent<number>;
}

/** What Python writes before the script; see given.ts. */
declare const GIVEN: object;
