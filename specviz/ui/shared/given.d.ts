// What Python tells every section: see `given` in routes.py, which writes this module.

import type { Glyph, Stroke, TraceType } from "./data.js";

export const GLOSSARY: Record<string, string>;
/** What a term is called where its key is not its name. */
export const TITLES: Record<string, string>;
export const TRACE: { type: TraceType; mode: string; hoverinfo: string };
export const PLOTLY: string;
/** Of a token's states, on a grid of 12 by 12; of buttons, 16 by 16. */
export const MARKS: Partial<Record<string, Stroke[]>>;
export const ICONS: Record<string, Stroke[]>;
export const GLYPHS: Record<Glyph, [box: string, paths: Stroke[]]>;
/** How far glyphs reach above the middle of a line in a tree. */
export const RISES: Record<Glyph, number>;
/** The states whose word is struck through. */
export const STRUCK: string[];
/** Of a draft tree: see figures/marks.py. */
export const PILL: { height: number; mark: number; least: number };
