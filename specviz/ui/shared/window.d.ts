// What the page's own script and plotly's put on the window.

interface Window {
  specviz: Record<string, any>;
  Plotly: any;
}
