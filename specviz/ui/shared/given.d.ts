// What Python tells every section: see `given` in routes.py, which writes this module.

import type { TraceType } from "./data.js";

export const GLOSSARY: Record<string, string>;
export const TRACE: { type: TraceType; mode: string; hoverinfo: string };
export const PLOTLY: string;
