// The button that opens a rejected position of Step in the sandbox of the tab Lossless?.

import { visit } from "../shared/tabs";
import { required } from "../shared/required";

import { player } from "./state";
import { stage } from "./stage";

import type { Table, TableRow } from "../../frames/table.py";

const MOST = 5; // number of words that fit into the sandbox

const weight = ({ is, m }: TableRow) => (is === "trial" ? 2 : 0) + m[0] + m[1];

/**
 * Return p and q of a table's most probable words and of the guess, each scaled to sum to 1; null
 * if there are too few. All other tokens are left out, since merging them into one would increase
 * the overlap.
 */
export function distributionsOf(view: Table) {
  const rows = view.rows
    .filter((row) => row.w)
    .sort((a, b) => weight(b) - weight(a))
    .slice(0, MOST);
  const drawn = view.heads.some((head) => head.of === "q");
  const p = rows.map((row) => row.m[0]);
  const q = rows.map((row) => (drawn ? row.m[1] : row.is === "trial" ? 1 : 0));
  const [sumP, sumQ] = [p, q].map((masses) => masses.reduce((sum, mass) => sum + mass, 0));
  if (rows.length < 2 || !sumP || !sumQ) return null;
  return {
    words: rows.map((row) => required(row.w)),
    p: p.map((mass) => mass / sumP),
    q: q.map((mass) => mass / sumQ),
    drawn: drawn ? "sampled" : "top",
  };
}

/** The button in the corner of a rejection's table. */
export function TryRules(view: Table) {
  const found = view.full && stage.config.served ? distributionsOf(view) : null;
  if (!found) return null;
  const onClick = () => {
    const from = "Round " + player.rounds[player.at.round].number;
    visit("Lossless?", "sv-sand", { ...found, candidates: 1, rule: "auto", preset: "", from });
  };
  const title = "Open these p and q in the sandbox on Lossless?, to try other rules";
  return (
    <button class="sv-to-sandbox" type="button" title={title} onClick={onClick}>
      try rules →
    </button>
  );
}
