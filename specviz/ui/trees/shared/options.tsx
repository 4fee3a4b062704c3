// The lists of positions and shapes, and a live position that all sections list.

import { expect } from "../../shared/tabs";

/** A live position, passed from one section to another. */
export type Handed = { place: string; title: string };

export const Options = (rows: [value: string, title: string][], chosen: string) =>
  rows.map(([value, title]) => (
    <option key={value} value={value} selected={value === chosen}>
      {title}
    </option>
  ));

/** List a live position in place of the previous one. */
export const listLive = (part: string, list: (row: [place: string, title: string]) => void) =>
  expect(part, ({ place, title }: Handed) => list([place, title]));
