// A cell's details on hover and focus; arrow keys move from cell to cell.

import { Stage } from "../../shared/stage";
import { render } from "../../shared/view";
import { cellOf, rowsInOrder, shown, view } from "./shown";

import type { Config } from "./__init__.py";

export const stage: Stage<Config> = new Stage();
export const { $ } = stage;

const KEYS: Partial<Record<string, [row: number, column: number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

const cellAt = (row: number, column: number) =>
  stage.find('.sv-domains-map td[data-row="' + row + '"][data-column="' + column + '"]');

export function hideTip() {
  $(".sv-domains-tip").hidden = true;
  for (const told of stage.all("[aria-describedby=sv-domains-tip]"))
    told.removeAttribute("aria-describedby");
}

function showTip(td: HTMLElement) {
  hideTip();
  const row = rowsInOrder()[Number(td.dataset.row)];
  const data = cellOf(row, view().columns[Number(td.dataset.column)]);
  const tip = $(".sv-domains-tip");
  const [title, ...lines] = data ? data.said : ["Not measured"];
  render([<b>{title}</b>, lines.map((line) => <span>{line}</span>)], tip);
  tip.hidden = false;
  td.setAttribute("aria-describedby", "sv-domains-tip");
  place(tip, td);
}

function place(tip: HTMLElement, td: HTMLElement) {
  const area = $(".sv-domains-wrap").getBoundingClientRect();
  const [at, own] = [td.getBoundingClientRect(), tip.getBoundingClientRect()];
  const zoom = own.width / tip.offsetWidth || 1; // "Larger text" scales the measured sizes
  const left = Math.max(0, Math.min(at.left - area.left, area.width - own.width));
  const below = at.bottom - area.top + 4;
  const above = at.top - area.top - own.height - 4;
  const fits = at.bottom + own.height + 8 < window.innerHeight || at.top - own.height < 8;
  tip.style.left = left / zoom + "px";
  tip.style.top = (fits ? below : above) / zoom + "px";
}

function move(event: KeyboardEvent) {
  const td = over(event);
  if (event.key === "Escape") return hideTip();
  const step = KEYS[event.key];
  if (!td || !step || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = cellAt(Number(td.dataset.row) + step[0], Number(td.dataset.column) + step[1]);
  event.preventDefault();
  event.stopPropagation();
  if (!next) return;
  td.tabIndex = -1;
  next.tabIndex = 0;
  shown.here = { row: Number(next.dataset.row), column: Number(next.dataset.column) };
  next.focus();
}

// Return the cell in which an event happened.
const over = (event: Event) => (event.target as Element).closest("td");

export function listen() {
  const map = $(".sv-domains-map");
  map.addEventListener("pointerover", (event) => {
    const td = over(event);
    if (td) showTip(td);
    else hideTip();
  });
  map.addEventListener("pointerleave", () => {
    const focused = stage.find("td:focus-visible");
    if (focused) showTip(focused);
    else hideTip();
  });
  map.addEventListener("focusin", (event) => {
    const td = over(event);
    if (td) showTip(td);
  });
  map.addEventListener("focusout", hideTip);
  map.addEventListener("keydown", move);
}
