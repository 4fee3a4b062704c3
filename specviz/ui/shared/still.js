// A copy of a part of the page that needs no style sheet: each element has its own styles, where
// they differ from those of the same kind of element on an empty page.

import { there } from "./there.js";

// Styles that have no effect in a picture, or that repeat others.
const IDLE = new RegExp(
  "^(--|animation|transition|cursor|pointer-events|scroll|overscroll|user-select|perspective|" +
    "will-change|-webkit-(locale|user)|(min-|max-)?(inline|block)-size|" +
    "(border|margin|padding|inset|overflow|contain-intrinsic)-(block|inline))",
);

// Styles that are always written: the width of a line that is not drawn, since another element
// would draw it; and inherited styles, which may be different where the copy is used.
const ALWAYS =
  /^((border|outline|column-rule).*-width|font-(weight|size|style|family)|color|line-height|letter-spacing|text-align|text-transform|white-space.*|visibility)$/;

/** @typedef {Record<string, string>} Styles */

/** @type {string[]} */
let names = []; // names of all styles that are compared, the same for every element
/** @type {Set<string>} */
let always = new Set();

/** @param {CSSStyleDeclaration} style @returns {Styles} */
function named(style) {
  if (!names.length) {
    names = [...style].filter((name) => !IDLE.test(name));
    always = new Set(names.filter((name) => ALWAYS.test(name)));
  }
  /** @type {Styles} */
  const found = {};
  for (const name of names) found[name] = style.getPropertyValue(name);
  return found;
}

// An empty page, which gives the default styles of elements.
class Blank {
  constructor() {
    this.frame = document.body.appendChild(document.createElement("iframe"));
    /** @type {Map<string, Styles>} */
    this.known = new Map();
  }

  /** @param {Element} element @returns {Styles} */
  usual({ namespaceURI, localName }) {
    const kind = namespaceURI + " " + localName;
    const page = there(this.frame.contentDocument);
    const known = this.known.get(kind);
    if (known) return known;
    const made = page.body.appendChild(page.createElementNS(namespaceURI, localName));
    const styles = named(there(this.frame.contentWindow).getComputedStyle(made));
    made.remove();
    this.known.set(kind, styles);
    return styles;
  }
}

/** @param {Styles} styles @param {Styles} usual */
const written = (styles, usual) =>
  Object.entries(styles)
    .filter(([name, value]) => usual[name] !== value || always.has(name))
    .map(([name, value]) => name + ":" + value)
    .join(";");

/** @param {Element} original @param {Element} copy @param {Blank} blank */
function dress(original, copy, blank) {
  const usual = blank.usual(original);
  [...original.children].forEach((child, at) => {
    dress(child, copy.children[at], blank);
  });
  copy.setAttribute("style", written(named(getComputedStyle(original)), usual));
  copy.removeAttribute("id");
  for (const [pseudo, put] of /** @type {const} */ ([
    ["::before", "prepend"],
    ["::after", "append"],
  ])) {
    const style = getComputedStyle(original, pseudo);
    if (style.content === "none" || style.content === "normal") continue;
    const made = document.createElement("span");
    made.textContent = style.content.replace(/^"|"$/g, "");
    made.setAttribute("style", written(named(style), {}));
    copy[put](made);
  }
  keepScroll(original, /** @type {HTMLElement} */ (copy));
}

// A copy cannot be scrolled: what is in it moves instead.
/** @param {Element} original @param {HTMLElement} copy */
function keepScroll({ scrollTop, scrollLeft }, copy) {
  if (!scrollTop && !scrollLeft) return;
  copy.style.overflow = "hidden";
  if (copy.style.display === "flex" || copy.style.display === "grid") {
    const children = /** @type {HTMLElement[]} */ ([...copy.children]);
    for (const child of children) child.style.translate = `${-scrollLeft}px ${-scrollTop}px`;
    return;
  }
  const inside = document.createElement("div");
  inside.style.margin = -scrollTop + "px 0 0 " + -scrollLeft + "px";
  inside.append(...copy.childNodes);
  copy.append(inside);
}

/** @param {HTMLElement} part */
export function still(part) {
  const copy = /** @type {HTMLElement} */ (part.cloneNode(true));
  const blank = new Blank();
  dress(part, copy, blank);
  blank.frame.remove();
  return copy;
}
