// What Python tells every section: see `given` in routes.py, which writes this module.

export const GLOSSARY: Record<string, string>;
export const TRACE: { type: string; mode: string; hoverinfo: string };
export const PLOTLY: string;
