// From a rejection on Step to the sandbox on Lossless?, with that very position.

import { el } from "../shared/dom.js";
import { visit } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { now } from "./now.js";
import { reel } from "./reel.js";

/** @import { Table, TableRow } from "./data.js" */

const MOST = 5; // words that the sandbox has room for

/** @param {TableRow} row */
const weight = ({ is, m }) => (is === "trial" ? 2 : 0) + m[0] + m[1];

// Words of the table, the one on trial among them; p and q each scaled to 1. Cut, not lumped: one
// bucket of all others would have another overlap than they have.
/** @param {Table} view */
export function lawsOf(view) {
  const rows = view.rows
    .filter((row) => row.w)
    .sort((a, b) => weight(b) - weight(a))
    .slice(0, MOST);
  const drawn = view.heads.some((head) => head.of === "q");
  const p = rows.map((row) => row.m[0]);
  const q = rows.map((row) => (drawn ? row.m[1] : row.is === "trial" ? 1 : 0));
  const [all, guessed] = [p, q].map((law) => law.reduce((sum, one) => sum + one, 0));
  if (rows.length < 2 || !all || !guessed) return null;
  return {
    words: rows.map((row) => there(row.w)),
    p: p.map((one) => one / all),
    q: q.map((one) => one / guessed),
    drawn: drawn ? "sampled" : "top",
  };
}

/** @param {Table} view */
export function toSandbox(view) {
  const laws = view.full ? lawsOf(view) : null;
  if (!laws) return null;
  const made = el("button", "sv-to-sandbox", "try rules");
  made.type = "button";
  made.title = "Open these p and q in the sandbox on Lossless?, to try other rules";
  made.addEventListener("click", () => {
    const from = "Round " + reel.rounds[now.at.round].number;
    visit("Lossless?", "sv-sand", { ...laws, candidates: 1, rule: "auto", preset: "", from });
  });
  return made;
}
