// A copy of a part of the page that needs no style sheet: each element has its own styles, where
// they differ from those of the same kind of element on an empty page.

import { required } from "./required";

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

export type Styles = Record<string, string>;

let names: string[] = []; // names of all styles that are compared, the same for every element
let always: Set<string> = new Set();

function named(style: CSSStyleDeclaration): Styles {
  if (!names.length) {
    names = [...style].filter((name) => !IDLE.test(name));
    always = new Set(names.filter((name) => ALWAYS.test(name)));
  }
  const found: Styles = {};
  for (const name of names) found[name] = style.getPropertyValue(name);
  return found;
}

// An empty page, which gives the default styles of elements.
class Blank {
  frame = document.body.appendChild(document.createElement("iframe"));
  known: Map<string, Styles> = new Map();

  usual({ namespaceURI, localName }: Element): Styles {
    const kind = namespaceURI + " " + localName;
    const page = required(this.frame.contentDocument);
    const known = this.known.get(kind);
    if (known) return known;
    const made = page.body.appendChild(page.createElementNS(namespaceURI, localName));
    const styles = named(required(this.frame.contentWindow).getComputedStyle(made));
    made.remove();
    this.known.set(kind, styles);
    return styles;
  }
}

const written = (styles: Styles, usual: Styles) =>
  Object.entries(styles)
    .filter(([name, value]) => usual[name] !== value || always.has(name))
    .map(([name, value]) => name + ":" + value)
    .join(";");

function dress(original: Element, copy: Element, blank: Blank) {
  const usual = blank.usual(original);
  [...original.children].forEach((child, at) => {
    dress(child, copy.children[at], blank);
  });
  copy.setAttribute("style", written(named(getComputedStyle(original)), usual));
  copy.removeAttribute("id");
  for (const [pseudo, put] of [
    ["::before", "prepend"],
    ["::after", "append"],
  ] as const) {
    const style = getComputedStyle(original, pseudo);
    if (style.content === "none" || style.content === "normal") continue;
    const made = document.createElement("span");
    made.textContent = style.content.replace(/^"|"$/g, "");
    made.setAttribute("style", written(named(style), {}));
    copy[put](made);
  }
  keepScroll(original, copy as HTMLElement);
}

// A copy cannot be scrolled: what is in it moves instead.
function keepScroll({ scrollTop, scrollLeft }: Element, copy: HTMLElement) {
  if (!scrollTop && !scrollLeft) return;
  copy.style.overflow = "hidden";
  if (copy.style.display === "flex" || copy.style.display === "grid") {
    const children = [...copy.children] as HTMLElement[];
    for (const child of children) child.style.translate = `${-scrollLeft}px ${-scrollTop}px`;
    return;
  }
  const inside = document.createElement("div");
  inside.style.margin = -scrollTop + "px 0 0 " + -scrollLeft + "px";
  inside.append(...copy.childNodes);
  copy.append(inside);
}

export function still(part: HTMLElement) {
  const copy = part.cloneNode(true) as HTMLElement;
  const blank = new Blank();
  dress(part, copy, blank);
  blank.frame.remove();
  return copy;
}
