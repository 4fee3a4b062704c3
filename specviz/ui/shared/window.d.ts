// What the page's own script and plotly's put on the window.

interface Window {
  /** What Gradio's event handlers and tests use; see page.ts. */
  specviz: Record<string, unknown>;
  Plotly: import("./plotly").Plotly;
}

/** What Python writes before the script; see given.ts. */
declare const GIVEN: object;
