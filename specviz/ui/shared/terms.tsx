// The glossary's card, shown beside a term. A click or a tap opens it until the next one; a mouse
// that rests on the term opens it while it rests; `?` opens the card of the focused term.

import { GLOSSARY, TITLES } from "./given";
import { render } from "./view";

const REST = 350; // ms for which a mouse rests on a word before its card appears
const GAP = 6; // px between a word and its card
const EDGE = 8; // minimum px between the card and the window's edge
const SLIDE = 4; // px between the positions that are tried
const TOKENS = ".sv-twig-node, .sv-chip, .sv-verdict"; // of a tree and of the text, and what they get

const SENTENCES = ".sv-say, .sv-pass-say, .sv-note"; // a card covers none of their lines

let about: HTMLElement | null = null; // the word whose card is open
let stays = false;
let timer = 0;
const card = document.createElement("div");

export const titleOf = (term: string) => TITLES[term] || term;

export function startTerms() {
  Object.assign(card, {
    popover: "manual",
    id: "sv-gloss",
    className: "sv-gloss",
    role: "tooltip",
  });
  document.body.append(card);
  document.addEventListener("click", onClick);
  document.addEventListener("pointerover", onOver);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("scroll", hide, true);
}

function termAt(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest("[data-term]") : null;
}

// A term that is also a control keeps its own click.
const acts = (word: Element) => word.closest("button, a, input, select, [role=slider]") !== null;

function onClick(event: MouseEvent) {
  if (event.target instanceof Node && card.contains(event.target)) return;
  const word = termAt(event.target);
  const again = word === about && stays;
  hide();
  if (!word || again || acts(word)) return;
  show(word);
  stays = true;
}

function onOver(event: PointerEvent) {
  clearTimeout(timer);
  if (event.pointerType !== "mouse" || stays) return;
  const word = termAt(event.target);
  if (about && word !== about) hide();
  if (word && word !== about) timer = setTimeout(() => show(word), REST);
}

export function hide() {
  clearTimeout(timer);
  if (about) card.hidePopover();
  about?.removeAttribute("aria-describedby");
  [about, stays] = [null, false];
}

export function show(word: HTMLElement) {
  const term = word.dataset.term || "";
  if (!word.isConnected || !GLOSSARY[term]) return;
  render([<b>{titleOf(term)}</b>, <p>{GLOSSARY[term]}</p>], card);
  about = word;
  word.setAttribute("aria-describedby", card.id);
  card.showPopover();
  const sentence = word.closest(SENTENCES) ?? word;
  place(word.getBoundingClientRect(), sentence.getBoundingClientRect());
}

// Place the card below or above the term, or the whole sentence around it: inside the window, where
// it covers as little as possible of the other terms and controls. Of equally good positions, the
// first is used.
function place(word: DOMRect, sentence: DOMRect) {
  const { width, height } = card.getBoundingClientRect();
  const [below, above] = [word.bottom + GAP, word.top - GAP - height];
  const around = [sentence.bottom + GAP, sentence.top - GAP - height];
  const inside = (left: number) => Math.max(EDGE, Math.min(left, innerWidth - width - EDGE));
  const lefts: number[] = [];
  for (let left = word.left; left >= word.right - width; left -= SLIDE) lefts.push(inside(left));
  const covered = coverage();
  const fitting = [below, above, ...around]
    .filter((top) => top >= EDGE && top + height + EDGE <= innerHeight)
    .flatMap((top) => lefts.map((left) => new DOMRect(left, top, width, height)))
    .map((box) => ({ box, cost: covered(box) }))
    .sort((one, other) => one.cost - other.cost);
  const box = fitting[0]?.box ?? new DOMRect(inside(word.left), Math.max(EDGE, above));
  card.style.left = box.left + "px";
  card.style.top = box.top + "px";
}

const meet = (one: DOMRect, other: DOMRect) =>
  one.left < other.right &&
  one.right > other.left &&
  one.top < other.bottom &&
  one.bottom > other.top;

// Return how much a card would cover; a token or a sentence counts as much as four other elements
// that react to the pointer.
function coverage() {
  const heavy = TOKENS + ", " + SENTENCES;
  const shown = [...document.querySelectorAll(heavy + ", [data-link], [data-term]")].map(
    (each) => ({
      box: each.getBoundingClientRect(),
      weight: each.matches(heavy) ? 4 : 1,
    }),
  );
  return (card: DOMRect) =>
    shown.reduce((sum, { box, weight }) => sum + (meet(box, card) ? weight : 0), 0);
}

// Open the card of the focused term, or of the term around the focus; return whether there is one.
export function explainFocus() {
  const word = termAt(document.activeElement);
  if (!word) return false;
  show(word);
  stays = true;
  return true;
}
