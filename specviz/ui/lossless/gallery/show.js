// The list of published rules, and the details of one of them.

import { el, mark } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { columns } from "./columns.js";
import { $, stage } from "./stage.js";

/** @import { Word } from "../../shared/data.js" */
/** @import { Exhibit } from "./data.js" */

/** @type {Exhibit[]} */
export let exhibits = [];
let open = "";
/** @type {Word[]} */
let words = [];

/** @param {Exhibit[]} all @param {Word[]} over The words of p and q. */
export function showAll(all, over) {
  [exhibits, words] = [all, over];
  stage.element.style.setProperty("--sv-sand-many", String(words.length));
  $(".sv-wild-wait").hidden = true;
  $(".sv-wild-body").hidden = false;
  showList();
  showOne(exhibits.find(({ key }) => key === open) || exhibits[0]);
}

function showList() {
  $(".sv-wild-list").replaceChildren(...exhibits.map((each) => el("li", "", entry(each))));
}

/** @param {Exhibit} each */
function entry(each) {
  const made = el("button", "", badge(each), el("span", "", each.name), el("b", "", each.tv));
  made.type = "button";
  made.dataset.key = each.key;
  made.addEventListener("click", () => {
    showOne(each);
    // On narrow screens the details are below the list.
    if (matchMedia("(max-width: 1100px)").matches) $(".sv-wild-one").scrollIntoView();
  });
  return made;
}

/** @param {Exhibit} each */
export function badge({ is }) {
  const said = is === "exact" ? "exact" : "lossy";
  const sign = mark(is === "exact" ? "accepted" : "rejected");
  const made = el("span", "sv-wild-badge", sign, said);
  made.dataset.is = is;
  return made;
}

/** @param {Exhibit} each */
export function showOne(each) {
  open = each.key;
  for (const button of stage.all(".sv-wild-list button"))
    button.setAttribute("aria-current", String(button.dataset.key === open));
  $(".sv-wild-one").replaceChildren(...article(each));
}

/** @param {Exhibit} each */
export function article(each) {
  const link = el("a", "", each.source.title);
  link.href = each.source.url;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  return [
    el("h3", "", badge(each), " " + each.name),
    el("p", "sv-wild-found", each.said),
    ...columns(words, each.out, each.p),
    el(
      "dl",
      "",
      row("How guesses are chosen", each.drawn),
      row("How they are checked", each.judged),
      row("Why", each.why),
      row("The claim in the source", each.claimed, link),
    ),
  ];
}

/** @param {string} name @param {string} said @param {HTMLElement} [more] */
const row = (name, said, more) =>
  el("div", "", el("dt", "", name), el("dd", "", said, more ? el("br") : null, more || null));

/** @param {string} key */
export const named = (key) => there(exhibits.find((each) => each.key === key));
