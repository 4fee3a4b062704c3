// Tables that become cards on a narrow screen: each cell has its column's name.

import { classes } from "../../shared/view";

import type { ComponentChild } from "preact";
import type { SourceData } from "./__init__.py";

/** A column: its heading, its class, and a row's cell. */
export type Column<Row> = [title: string, name: string, cell: (row: Row) => ComponentChild];

export type CardRow = { method: string; place?: string; kind?: string };

const UNSAID: Partial<Record<string, string>> = {
  A: "not in the abstract",
  2: "not in the quotation",
};
const READ: Partial<Record<string, string>> = {
  A: "abstract only",
  2: "second-hand: quoted by others",
};

/**
 * A table with explicit roles, since screen readers do not recognize a table that is laid out as
 * cards. The first cell of a row is its heading.
 * @param here The place of the row that a link led to.
 */
export const CardsTable = <Row extends CardRow>(
  caption: string,
  columns: Column<Row>[],
  rows: Row[],
  here?: string,
) => (
  <table role="table">
    <caption class="sv-unseen">{caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(([title, name]) => (
          <th class={name} role="columnheader" scope="col">
            {title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody role="rowgroup">{rows.map((row) => Row(columns, row, here))}</tbody>
  </table>
);

function Row<Row extends CardRow>(columns: Column<Row>[], row: Row, here?: string) {
  const { place, kind, method } = row;
  const name = classes(
    kind === "slower" && "sv-headline-slower",
    place && place === here && "sv-headline-here",
  );
  return (
    <tr key={place ?? method} id={place && "sv-" + place} class={name} role="row">
      {columns.map(([title, name, cell], at) =>
        at ? (
          <td class={name} role="cell" data-label={title}>
            {cell(row)}
          </td>
        ) : (
          <th class={name} role="rowheader" scope="row" data-label={title}>
            {cell(row)}
          </th>
        ),
      )}
    </tr>
  );
}

/**
 * A text, or a note that the source does not state it.
 * @param evidence How it was read.
 */
export const Stated = (text: string, evidence: string = "") =>
  text || <span class="sv-headline-unsaid">{UNSAID[evidence] || "not stated there"}</span>;

export const Lines = (...parts: ComponentChild[]) => (
  <div class="sv-headline-lines">
    {parts.filter(Boolean).map((part) => (
      <div>{part}</div>
    ))}
  </div>
);

/**
 * A link to the source, with the letter of how it was read.
 * @param meanings The meaning of each letter.
 */
export const Cited = (
  { title, url, evidence, note }: SourceData,
  meanings: Record<string, string>,
) => (
  <div class="sv-headline-cited">
    {url.startsWith("https://") ? (
      <a href={url} rel="noopener noreferrer" target="_blank">
        {title}
      </a>
    ) : (
      <span>{title}</span>
    )}
    <abbr class="sv-headline-letter" title={meanings[evidence] ?? ""}>
      {evidence}
    </abbr>
    {READ[evidence] && <small>{READ[evidence]}</small>}
    {note && <small>{note}</small>}
  </div>
);
