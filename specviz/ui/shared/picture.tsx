// Figures to save: parts of the page as SVG or PNG, in which each element has its computed style, with
// a title and facts as text below.

import { still } from "./still";
import { required } from "./required";
import { Component, toElement } from "./view";

import type { ComponentChildren } from "preact";

const SVG = "http://www.w3.org/2000/svg";
const SHARP = 2; // pixels of a PNG per pixel of the page
const AIR = 16; // px of margin around a picture
const GAP = 8; // px above a caption, and between parts
const LEAST = 200; // px that a caption is wide, below a narrow figure
const LINE = 17; // px of a line of the caption
const LETTERS = 12; // px of its letters
const MAX_NAME = 120; // letters of a file's name
const ABSENT = "It is not on screen now.";
const UNABLE =
  "This browser cannot make a PNG: it does not draw parts of a page into a picture. Try Chrome, Edge or Firefox.";

// Parts that pictures and films leave out: they are of use only on the page, or only at this moment.
const ALIVE =
  "input, [hidden], .sv-what-now, .sv-pictures, .sv-guess, .sv-vote, .sv-answer, .sv-last, .sv-gloss, .sv-hint-drag, .sv-race-words, .sv-race-link";

/** What a figure is called, and what is written below it: where its numbers come from. */
export type Caption = { title: string; facts: string[] };
/** Elements that make up a figure, as far as they exist. */
export type Parts = HTMLElement | null | (HTMLElement | null)[];
/** What is on screen: for the names of files, and for captions; what is empty is left out. */
export type About = () => { file: string; facts: (string | false | null | undefined)[] };

/** Parts of the page where they are on screen, as one picture. */
export function svgOf(parts: HTMLElement[], caption?: Caption) {
  const boxes = boxesOf(parts);
  const west = Math.min(...boxes.map((box) => box.left));
  const north = Math.min(...boxes.map((box) => box.top));
  const holder = document.createElement("div");
  parts.forEach((part, at) => {
    const copy = still(part);
    for (const one of copy.querySelectorAll(ALIVE)) one.remove();
    const { left, top, width, height } = boxes[at];
    const zoom = part.currentCSSZoom; // of larger text, which the copy is not in
    const [x, y, wide, high] = [left - west + AIR, top - north + AIR, width, height].map(
      (length) => length / zoom + "px",
    );
    const isTable = getComputedStyle(part).display === "table"; // its height does not include its caption
    copy.style.cssText += `;position:absolute;box-sizing:border-box;margin:0;inset:auto;left:${x};top:${y};width:${wide};height:${isTable ? "auto" : high};zoom:${zoom}`;
    holder.append(copy);
  });
  const width = Math.max(...boxes.map((box) => box.right)) - west;
  const height = Math.max(...boxes.map((box) => box.bottom)) - north;
  return drawingOf(holder, width, height, caption);
}

/** Where parts are on screen; one that is scrolled over another is put below it. */
function boxesOf(parts: HTMLElement[]) {
  const boxes = parts.map((part) => part.getBoundingClientRect());
  for (const [at, box] of boxes.slice(1).entries()) {
    const { left, right, top, bottom } = boxes[at];
    if (Math.min(right, box.right) - Math.max(left, box.left) <= 1) continue;
    if (Math.min(bottom, box.bottom) - Math.max(top, box.top) <= 1) continue;
    boxes[at + 1] = new DOMRect(left, bottom + GAP, box.width, box.height);
  }
  return boxes;
}

/** @param width The width of its content alone. */
function drawingOf(copy: HTMLElement, width: number, height: number, caption?: Caption) {
  const top = height + 2 * AIR + GAP;
  const text = caption && CaptionText(caption, Math.max(width, LEAST), top);
  const foot = text ? text.childElementCount * LINE + GAP : 0;
  const wide = Math.ceil((text ? Math.max(width, LEAST) : width) + 2 * AIR);
  const high = Math.ceil(height + foot + 2 * AIR);
  const svg = element("svg", { xmlns: SVG, width: wide, height: high });
  svg.setAttribute("viewBox", [0, 0, wide, high].join(" "));
  const fill = getComputedStyle(document.body).getPropertyValue("--sv-bg");
  const ground = element("rect", { width: "100%", height: "100%", fill });
  const holder = element("foreignObject", { width: "100%", height: "100%" });
  holder.append(copy);
  if (caption) svg.append(element("title", {}, caption.title));
  svg.append(ground, holder, ...(text ? [text] : []));
  return new XMLSerializer().serializeToString(svg);
}

function element(name: string, attributes: Record<string, string | number>, text: string = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

function CaptionText({ title, facts }: Caption, width: number, top: number) {
  const style = getComputedStyle(document.body);
  const [ink, pale] = ["--sv-ink", "--sv-ink2"].map((name) => style.getPropertyValue(name));
  const font = LETTERS + "px " + style.fontFamily;
  const lines = (text: string, weight: string) => wrapped(text, width, weight + " " + font);
  const made = element("text", { style: "font:" + font });
  const rows = [
    ...lines(title, "700").map((line) => ({ line, fill: ink, "font-weight": "700" })),
    ...lines(facts.join(" · "), "400").map((line) => ({ line, fill: pale, "font-weight": "400" })),
  ];
  for (const [at, { line, ...look }] of rows.entries())
    made.append(element("tspan", { x: AIR, y: top + at * LINE, ...look }, line));
  return made;
}

/** Lines of a text that fit in a width. */
function wrapped(text: string, width: number, font: string) {
  const pen = required(document.createElement("canvas").getContext("2d"));
  pen.font = font;
  const lines: string[] = [];
  for (const word of text.split(" ").filter(Boolean)) {
    const longer = lines.at(-1) + " " + word;
    if (lines.length && pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

export async function imageOf(svg: string) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await image.decode();
  return image;
}

async function pngOf(svg: string): Promise<Blob> {
  const image = await imageOf(svg);
  const canvas = document.createElement("canvas");
  canvas.width = image.width * SHARP;
  canvas.height = image.height * SHARP;
  const pen = required(canvas.getContext("2d"));
  pen.scale(SHARP, SHARP);
  pen.drawImage(image, 0, 0);
  return new Promise((done) => canvas.toBlob((blob) => done(required(blob)), "image/png"));
}

export function save(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A file's name from words; signs and spaces become dashes. */
const fileName = (...words: string[]) =>
  ["specviz", ...words]
    .join("-")
    .replace(/[^\p{L}\p{N}.]+/gu, "-")
    .slice(0, MAX_NAME)
    .replace(/^-+|-+$/g, "");

export const isShown = (part: HTMLElement | null): part is HTMLElement =>
  Boolean(part?.checkVisibility({ visibilityProperty: true }) && part.hasChildNodes());

/** A figure: its name, what is on screen, and its elements. */
export type Saved = { name: string; about: About; find: () => Parts };
/** A figure's name with two buttons that save it, and what they could not do. */
export class Savers extends Component<Saved, { message?: string }> {
  async save(kind: "SVG" | "PNG") {
    const { name, about, find } = this.props;
    const parts = [find()].flat().filter(isShown);
    if (!parts.length) return this.setState({ message: ABSENT });
    const { file, facts } = about();
    const title = name[0].toUpperCase() + name.slice(1);
    const svg = svgOf(parts, { title, facts: facts.filter((fact) => typeof fact === "string") });
    const called = fileName(file, name) + "." + kind.toLowerCase();
    try {
      const svgType = { type: "image/svg+xml" };
      save(kind === "PNG" ? await pngOf(svg) : new Blob([svg], svgType), called);
      this.setState({ message: "" });
    } catch {
      this.setState({ message: UNABLE });
    }
  }

  render() {
    const { name } = this.props;
    const { message = "" } = this.state;
    return (
      <span class="sv-saver">
        {name + " "}
        {this.button("SVG")} {this.button("PNG")}
        <span role="status">{message && " " + message}</span>
      </span>
    );
  }

  button(kind: "SVG" | "PNG") {
    const label = "Save " + this.props.name + " as " + kind;
    const attributes = { class: "sv-link", type: "button" as const, "aria-label": label };
    return (
      <button {...attributes} onClick={() => this.save(kind)}>
        {kind}
      </button>
    );
  }
}

/** A line with buttons that save figures. Further controls can be added. */
export const Pictures = (
  about: About,
  figures: [name: string, find: () => Parts][],
  more?: ComponentChildren,
) => (
  <p class="sv-pictures">
    {"Save a picture: "}
    {figures.map(([name, find]) => (
      <Savers key={name} name={name} about={about} find={find} />
    ))}
    {more}
  </p>
);

export const pictures = (...line: Parameters<typeof Pictures>) => toElement(Pictures(...line));
