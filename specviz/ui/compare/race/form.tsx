// The form of a race: the button that opens its settings and summarizes them, adding and removing
// lanes, presets and recorded races. Values are lists in the form's order. Gradio draws the
// settings.

import { byId } from "../../shared/dom";
import { onEscape } from "../../shared/gradio";
import { own } from "../../shared/own";
import { Stage } from "../../shared/stage";
import { required } from "../../shared/required";
import { InlineFacts, render } from "../../shared/view";
import { fieldValues, settingsText, summary } from "./lane_settings";

import type { Start } from "../../shared/section";
import type { Config } from "./form.py";
import type { Value } from "./request.py";

/** The lanes' values: drafter, settings, drafter, settings, ... */
export type Slots = (string | null)[];

const OPEN = "sv-raceform-open";
const DRAWER = "sv-raceform-drawer";
const stage: Stage<Config> = new Stage();
const { $ } = stage;
let edited = -1; // index of the lane whose settings are open, -1 for none

// Return the lanes in use, as pairs of a drafter and its settings.
function lanesOf(values: Slots) {
  const pairs = Array.from({ length: stage.config.most }, (_, place) =>
    values.slice(2 * place, 2 * place + 2),
  );
  return pairs
    .filter(([drafter]) => drafter)
    .map(([drafter, settings]) => [drafter, settings || ""]);
}

// Return the form's values for these lanes; unused lanes have no drafter.
const slots = (lanes: Slots[]) =>
  Array.from({ length: stage.config.most }, (_, place) => lanes[place] || [null, ""]).flat();

const same = (one: Slots, other: Slots) =>
  slots(lanesOf(one)).join("\n") === slots(lanesOf(other)).join("\n");
const known = (name: string | null) =>
  own(stage.config.drafters, name) || stage.config.drafters["draft-model"];
const suits = (name: string | null) => (name ? known(name).suits : "");
const fileName = (path: string) =>
  path
    .trim()
    .replace(/[\\/]+$/, "")
    .split(/[\\/]/)
    .pop();

function add(values: Slots) {
  const lanes = lanesOf(values),
    taken = lanes.map(([drafter]) => drafter);
  const preset = Object.values(stage.config.presets)[0].lanes.filter((_, place) => place % 2 === 0);
  const next = [...preset, ...Object.keys(stage.config.drafters)].find(
    (name) => name && !taken.includes(name),
  );
  return slots([...lanes, [next || null, suits(next || null)]].slice(0, stage.config.most));
}

function remove(place: number, values: Slots) {
  const lanes = lanesOf(values);
  if (lanes.length <= stage.config.fewest) return values;
  edited = -1;
  if (place === lanes.length - 1) setTimeout(() => required(byId("sv-raceform-add")).focus(), 100);
  return slots(lanes.filter((_, at) => at !== place));
}

function hint(name: string | null, settings: string, target: string) {
  if (!name) return "";
  const { drafters, fields, targets } = stage.config;
  const madeFor = own(drafters, name)?.made_for;
  const title = own(targets, target);
  if (madeFor && madeFor !== target && title)
    return `made for ${targets[madeFor]}: it cannot draft for ${title}`;
  const isDefault = settings.trim() === known(name).suits;
  return summary(fields, known(name), settings) + (isDefault ? " (default)" : "");
}

// Return the values of the fields for the open lane.
function fields(values: Slots) {
  const [drafter, settings] = values.slice(2 * Math.max(edited, 0));
  return fieldValues(stage.config.fields, known(drafter), settings || "");
}

// Open the settings of a lane, or close them if they are open.
function edit(place: number, values: Slots) {
  edited = edited === place ? -1 : place;
  showFields(required(byId(DRAWER)), values);
  return fields(values);
}

// Return the lanes after writing the values of the fields to the open lane.
function write(both: Value[]) {
  const lanes = both.slice(0, 2 * stage.config.most) as Slots;
  if (edited < 0) return lanes;
  const [drafter, settings] = lanes.slice(2 * edited);
  const values = both.slice(2 * stage.config.most);
  const text = settingsText(stage.config.fields, known(drafter), settings || "", values);
  return lanes.map((value, at) => (at === 2 * edited + 1 ? text : value));
}

function show(values: Value[]) {
  const [model, temperature, , , seed, tokens] = values;
  const { first, most, targets } = stage.config;
  const lanes = values.slice(first.length - 2 * most) as Slots;
  const count = lanesOf(lanes).length;
  const target = String(model || "");
  const rest = ["", "T " + temperature, tokens + " tokens", "seed " + seed].join(" · ");
  const parts = [
    <b>{count === 1 ? "1 drafter" : count + " drafters"}</b>,
    <span>{" for "}</span>,
    <b>{own(targets, target) || fileName(target) || "House"}</b>,
    InlineFacts(rest),
  ];
  render(parts, $(".sv-said"));
  $("button").title = $("button").textContent.trim();
  const drawer = byId(DRAWER);
  if (drawer) drawer.dataset.target = target; // only drafters that fit it are listed
  return drawer !== null && isDrawn(drawer) && showDrawer(drawer, lanes);
}

// Return whether Gradio has drawn the whole form.
function isDrawn(drawer: HTMLElement) {
  const { presets, most } = stage.config;
  const needed = ["said p", "fields h2", ...Object.keys(presets)];
  return (
    needed.every((name) => drawer.querySelector("#sv-raceform-" + name)) &&
    drawer.querySelectorAll(".sv-raceform-hint p").length >= most &&
    drawer.querySelectorAll(".sv-raceform-remove").length >= most
  );
}

function showDrawer(drawer: HTMLElement, values: Slots) {
  const { presets, most } = stage.config;
  const count = lanesOf(values).length;
  if (edited >= count) edited = -1;
  showFields(drawer, values);
  drawer.dataset.lanes = String(count);
  for (let place = 0; place < most; place += 1) {
    const [drafter, settings] = values.slice(2 * place);
    showLane(place, drafter, hint(drafter, settings || "", drawer.dataset.target || ""));
  }
  const preset = Object.keys(presets).find((name) => same(presets[name].lanes, values));
  for (const name of Object.keys(presets))
    required(byId("sv-raceform-" + name)).setAttribute("aria-pressed", String(name === preset));
  const about = preset ? presets[preset].about : "Your own choice of lanes.";
  required(drawer.querySelector("#sv-raceform-said p")).textContent = about;
  return true;
}

function showLane(place: number, drafter: string | null, text: string) {
  const row = required(byId("sv-raceform-lane-" + (place + 1)));
  row.dataset.there = String(Boolean(drafter));
  const remove = required(row.querySelector(".sv-raceform-remove"));
  remove.setAttribute("aria-label", "Remove lane " + (place + 1));
  required(row.querySelector(".sv-raceform-hint p")).textContent = text;
}

// Show the fields of the open lane, and update the buttons that open them.
function showFields(drawer: HTMLElement, values: Slots) {
  const open = edited >= 0,
    name = values[2 * edited] || "";
  drawer.querySelectorAll(".sv-raceform-edit").forEach((button, place) => {
    button.setAttribute("aria-label", "Settings of lane " + (place + 1));
    button.setAttribute("aria-controls", "sv-raceform-fields");
    button.setAttribute("aria-expanded", String(place === edited));
  });
  drawer.dataset.edits = open ? String(edited + 1) : "";
  const box = required(byId("sv-raceform-fields"));
  box.dataset.reads = open ? known(name).reads.join(" ") : "";
  const title = own(stage.config.drafters, name)?.title ?? fileName(name);
  required(box.querySelector("h2")).textContent = "Settings of lane " + (edited + 1) + ": " + title;
}

// Return the form's values for a recorded race, or the current values if its recipe is unknown.
function follow(name: string, filled: Value[]) {
  edited = -1;
  return own(stage.config.recorded, name) || filled;
}

// The page's URL may contain the name of a recorded race other than the first.
const named = new URLSearchParams(location.search).get("race") ?? "";

const linked = ([chosen, ...filled]: Value[]) =>
  Object.hasOwn(stage.config.recorded, named)
    ? [named, ...follow(named, filled)]
    : [chosen, ...filled];

export const start: Start<Config> = (element, props, _watch, trigger, config) => {
  stage.set(element, props, config);
  const api = {
    add,
    remove,
    edit,
    fields,
    write,
    preset(name: string) {
      edited = -1;
      return config.presets[name].lanes;
    },
    suits,
    show,
    follow,
    linked,
  };
  const toggle = () => {
    const open = document.body.classList.toggle(OPEN);
    $("button").setAttribute("aria-expanded", String(open));
  };
  $("button").addEventListener("click", toggle);
  onEscape(() => {
    if (!document.body.classList.contains(OPEN) || !stage.element.offsetParent) return;
    toggle();
    $("button").focus();
  });
  const showWhenDrawn = () => show(config.first) || requestAnimationFrame(showWhenDrawn);
  showWhenDrawn();
  if (Object.keys(config.recorded).indexOf(named) > 0) trigger(config.event);
  return api;
};
