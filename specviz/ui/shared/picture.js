// Pictures to save: a part of the page as SVG or PNG, in which each element has its computed style.

import { still } from "./still.js";
import { there } from "./there.js";
import { h, toElement } from "./view.js";

/** @import { ComponentChildren } from "../vendor/preact.js" */

const SVG = "http://www.w3.org/2000/svg";
const SHARP = 2; // pixels of a PNG per pixel of the page
const AIR = 16; // px of margin around a picture

// Elements that only work on a live page.
const ALIVE = "input, [hidden], .sv-what-now, .sv-pictures";

/** @param {HTMLElement} part */
export function svgOf(part) {
  const { width, height } = part.getBoundingClientRect();
  const copy = still(part);
  for (const one of copy.querySelectorAll(ALIVE)) one.remove();
  copy.style.margin = AIR + "px";
  copy.style.width = width + "px";
  return drawingOf(copy, width, height);
}

/**
 * Parts that stand one below the other, as one picture.
 * @param {HTMLElement[]} parts
 * @param {string} without CSS selector of the elements to leave out.
 */
export function svgOfAll(parts, without) {
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const [left, top] = [boxes.map((box) => box.left), boxes.map((box) => box.top)];
  const [west, north] = [Math.min(...left), Math.min(...top)];
  const holder = document.createElement("div");
  parts.forEach((part, at) => {
    const copy = still(part);
    for (const one of copy.querySelectorAll(ALIVE + ", " + without)) one.remove();
    const [x, y] = [left[at] - west + AIR, top[at] - north + AIR];
    const { width, height } = boxes[at];
    copy.style.cssText += `;position:absolute;margin:0;left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
    holder.append(copy);
  });
  const width = Math.max(...boxes.map((box) => box.right)) - west;
  const height = Math.max(...boxes.map((box) => box.bottom)) - north;
  return drawingOf(holder, width, height);
}

/** @param {HTMLElement} copy @param {number} width @param {number} height The height of its content alone. */
function drawingOf(copy, width, height) {
  const [wide, high] = [width + 2 * AIR, height + 2 * AIR].map(Math.ceil);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("xmlns", SVG);
  svg.setAttribute("width", String(wide));
  svg.setAttribute("height", String(high));
  svg.setAttribute("viewBox", [0, 0, wide, high].join(" "));
  const ground = document.createElementNS(SVG, "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(document.body).getPropertyValue("--sv-bg"));
  const holder = document.createElementNS(SVG, "foreignObject");
  holder.setAttribute("width", "100%");
  holder.setAttribute("height", "100%");
  holder.append(copy);
  svg.append(ground, holder);
  return new XMLSerializer().serializeToString(svg);
}

/** @param {string} svg */
export async function imageOf(svg) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await image.decode();
  return image;
}

/** @param {string} svg @returns {Promise<Blob>} */
async function pngOf(svg) {
  const image = await imageOf(svg);
  const canvas = document.createElement("canvas");
  canvas.width = image.width * SHARP;
  canvas.height = image.height * SHARP;
  const pen = there(canvas.getContext("2d"));
  pen.scale(SHARP, SHARP);
  pen.drawImage(image, 0, 0);
  return new Promise((done) => canvas.toBlob((blob) => done(there(blob)), "image/png"));
}

/** @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** @param {string} name @param {() => string} draw */
function Savers(name, draw) {
  const file = "specviz-" + name.replaceAll(" ", "-");
  const svg = () => save(new Blob([draw()], { type: "image/svg+xml" }), file + ".svg");
  const png = async () => save(await pngOf(draw()), file + ".png");
  return h(
    "span",
    { class: "sv-saver", key: name },
    name + " ",
    Saver("SVG", name, svg),
    " ",
    Saver("PNG", name, png),
  );
}

/** @param {string} kind @param {string} name @param {() => void} onClick */
function Saver(kind, name, onClick) {
  const label = "Save " + name + " as " + kind;
  return h("button", { class: "sv-link", type: "button", "aria-label": label, onClick }, kind);
}

// A line with buttons that save parts of the page as pictures; each part has a name and a function
// that finds it. Further controls can be added.
/** @param {[name: string, part: () => HTMLElement][]} parts @param {ComponentChildren} [more] */
export function pictures(parts, more) {
  const each = parts.map(([name, part]) => Savers(name, () => svgOf(part())));
  return toElement(h("p", { class: "sv-pictures" }, "Save a picture: ", ...each, more));
}
