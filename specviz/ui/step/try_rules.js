// The button that opens a rejected position of Step in the sandbox of the tab Lossless?.

import { visit } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { h } from "../shared/view.js";
import { now } from "./cursor.js";
import { reel } from "./reel.js";
import { stage } from "./stage.js";

/** @import { Table, TableRow } from "../../frames/table.py" */

const MOST = 5; // number of words that fit into the sandbox

/** @param {TableRow} row */
const weight = ({ is, m }) => (is === "trial" ? 2 : 0) + m[0] + m[1];

/**
 * Return p and q of a table's most probable words and of the guess, each scaled to sum to 1; null
 * if there are too few. All other tokens are left out, since merging them into one would increase
 * the overlap.
 * @param {Table} view
 */
export function distributionsOf(view) {
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
    words: rows.map((row) => there(row.w)),
    p: p.map((mass) => mass / sumP),
    q: q.map((mass) => mass / sumQ),
    drawn: drawn ? "sampled" : "top",
  };
}

/** The button in the corner of a rejection's table. @param {Table} view */
export function TryRules(view) {
  const found = view.full && stage.config.served ? distributionsOf(view) : null;
  if (!found) return null;
  const onClick = () => {
    const from = "Round " + reel.rounds[now.at.round].number;
    visit("Lossless?", "sv-sand", { ...found, candidates: 1, rule: "auto", preset: "", from });
  };
  const title = "Open these p and q in the sandbox on Lossless?, to try other rules";
  return h("button", { class: "sv-to-sandbox", type: "button", title, onClick }, "try rules →");
}
