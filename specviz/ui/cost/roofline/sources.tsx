// The sources of the section's presets, each with the letter of how it was read.

import type { Config, Sourced, SourceRow } from "./__init__.py";

/**
 * A source: a link if it is on the web, or the path of a file of this app.
 * @param meanings The meaning of each letter.
 */
export const SourceLink = ([title, href, letter]: SourceRow, meanings: Record<string, string>) => (
  <span>
    {href.startsWith("https://") ? (
      <a href={href} target="_blank" rel="noopener">
        {title}
      </a>
    ) : (
      `${title} (${href})`
    )}{" "}
    <b class="sv-roofline-letter" title={meanings[letter]}>
      {letter}
    </b>
  </span>
);

const Preset = ({ title, sources, sheet, note }: Sourced, meanings: Record<string, string>) => (
  <div>
    <h4>{title}</h4>
    <ul>
      {sources.map((source) => (
        <li>
          {SourceLink(source, meanings)}
          {source[3] && ": " + source[3]}
        </li>
      ))}
      {sheet && (
        <li>{"vendor’s data sheet, as cited by these sources (not read itself): " + sheet}</li>
      )}
    </ul>
    {note && <p>{note}</p>}
  </div>
);

export const Sources = ({ evidence, machines, models, efficiencies }: Config) => [
  <dl class="sv-roofline-evidence">
    {Object.entries(evidence).map(([letter, meaning]) => (
      <div>
        <dt class="sv-roofline-letter">{letter}</dt>
        <dd>{meaning}</dd>
      </div>
    ))}
  </dl>,
  <div class="sv-roofline-list">
    {[efficiencies, machines, models].flatMap((kind) =>
      Object.values(kind).map((preset) => Preset(preset, evidence)),
    )}
  </div>,
];
