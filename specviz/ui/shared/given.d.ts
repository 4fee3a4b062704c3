// What Python tells every section: see `given` in routes.py, which writes this module.

import type { TraceType } from "./data.js";

export const GLOSSARY: Record<string, string>;
/** What a term is called where its key is not its name. */
export const TITLES: Record<string, string>;
export const TRACE: { type: TraceType; mode: string; hoverinfo: string };
export const PLOTLY: string;
