// The form of a race: a summary of its settings on the button that opens them, adding and removing
// lanes, presets and recorded races. Values are lists in the form's order.

import { byId } from "../../shared/dom.js";
import { Stage } from "../../shared/stage.js";
import { there } from "../../shared/there.js";
import { filled, words, written } from "./knobs.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Filled, FormConfig, Slots, Value } from "./data.js" */

const OPEN = "sv-raceform-open";
/** @type {Stage<FormConfig>} */
const stage = new Stage();
const { $ } = stage;
let edited = -1; // index of the lane whose settings are open; -1 if none
const shared = () => stage.config.first.length - 2 * stage.config.most; // number of values before those of the lanes

// The lanes in use, as pairs of a drafter and its settings.
/** @param {Slots} values */
function lanesOf(values) {
  const pairs = Array.from({ length: stage.config.most }, (_, place) =>
    values.slice(2 * place, 2 * place + 2),
  );
  return pairs
    .filter(([drafter]) => drafter)
    .map(([drafter, settings]) => [drafter, settings || ""]);
}

// The form's values for these lanes; unused lanes have no drafter.
/** @param {Slots[]} lanes */
function slots(lanes) {
  return Array.from({ length: stage.config.most }, (_, place) => lanes[place] || [null, ""]).flat();
}

/** @param {Slots} one @param {Slots} other */
const same = (one, other) =>
  JSON.stringify(slots(lanesOf(one))) === JSON.stringify(slots(lanesOf(other)));
/** @param {string} name */
const known = (name) => stage.config.drafters[name] || stage.config.drafters["draft-model"];
/** @param {string | null} name */
const suits = (name) => (name ? known(name).suits : "");
/** @param {string} path */
const nameOf = (path) =>
  path
    .trim()
    .replace(/[\\/]+$/, "")
    .split(/[\\/]/)
    .pop();

/** @param {Slots} values */
function add(values) {
  const lanes = lanesOf(values),
    taken = lanes.map(([drafter]) => drafter);
  const preset = Object.values(stage.config.presets)[0].lanes.filter((_, place) => place % 2 === 0);
  const next = [...preset, ...Object.keys(stage.config.drafters)].find(
    (name) => name && !taken.includes(name),
  );
  return slots([...lanes, [next || null, suits(next || null)]].slice(0, stage.config.most));
}

/** @param {number} place @param {Slots} values */
function remove(place, values) {
  const lanes = lanesOf(values);
  if (lanes.length <= stage.config.fewest) return values;
  edited = -1;
  if (place === lanes.length - 1) setTimeout(() => there(byId("sv-raceform-add")).focus(), 100);
  return slots(lanes.filter((_, at) => at !== place));
}

/** @param {string | null} name @param {string} settings @param {string} target */
function hint(name, settings, target) {
  if (!name) return "";
  const whose = name in stage.config.drafters ? known(name).made_for : null;
  if (whose && whose !== target && target in stage.config.targets)
    return `made for ${stage.config.targets[whose]}: it cannot draft for ${stage.config.targets[target]}`;
  const said = words(stage.config.fields, known(name), settings);
  return settings.trim() === known(name).suits ? said + " (default)" : said;
}

// The values of the fields for the open lane.
/** @param {Slots} values */
function fields(values) {
  const [drafter, settings] = values.slice(2 * Math.max(edited, 0));
  return filled(stage.config.fields, known(drafter || ""), settings || "");
}

// Open the settings of a lane, or close them if they are open.
/** @param {number} place @param {Slots} values */
function edit(place, values) {
  edited = edited === place ? -1 : place;
  showFields(there(byId("sv-raceform-drawer")), values);
  return fields(values);
}

// The lanes, with the values of the fields written to the open one.
/** @param {Value[]} both */
function write(both) {
  const lanes = /** @type {Slots} */ (both.slice(0, 2 * stage.config.most));
  if (edited < 0) return lanes;
  const [drafter, settings] = lanes.slice(2 * edited);
  const values = both.slice(2 * stage.config.most);
  const text = written(stage.config.fields, known(drafter || ""), settings || "", values);
  return lanes.map((value, at) => (at === 2 * edited + 1 ? text : value));
}

/** @param {Filled} values */
function show(values) {
  const [model, temperature, , , seed, tokens] = values;
  const typed = /** @type {Slots} */ (values.slice(shared()));
  const lanes = lanesOf(typed);
  const [many, , target, rest] = $(".sv-said").children;
  many.textContent = lanes.length === 1 ? "1 drafter" : lanes.length + " drafters";
  const named = String(model || "");
  target.textContent = stage.config.targets[named] || nameOf(named) || "House";
  rest.textContent = ["", "T " + temperature, tokens + " tokens", "seed " + seed].join(" · ");
  $("button").title = $("button").textContent.trim();
  const drawer = byId("sv-raceform-drawer");
  if (drawer) drawer.dataset.target = named; // drafters that fit it are listed
  return showDrawer(typed);
}

// Returns false while the page is still building the form.
/** @param {Slots} typed */
function showDrawer(typed) {
  const drawer = byId("sv-raceform-drawer");
  const hints = drawer ? drawer.querySelectorAll(".sv-raceform-hint p") : [];
  const needed = ["said p", ...Object.keys(stage.config.presets)].map(
    (name) => "#sv-raceform-" + name,
  );
  if (
    !drawer ||
    !needed.every((one) => drawer.querySelector(one)) ||
    hints.length < stage.config.most ||
    drawer.querySelectorAll(".sv-raceform-remove").length < stage.config.most ||
    !drawer.querySelector("#sv-raceform-fields h2")
  )
    return false;
  const lanes = lanesOf(typed);
  if (edited >= lanes.length) edited = -1;
  showFields(drawer, typed);
  drawer.dataset.lanes = String(lanes.length);
  for (let place = 0; place < stage.config.most; place += 1) {
    const row = there(byId("sv-raceform-lane-" + (place + 1)));
    const [drafter, settings] = typed.slice(2 * place);
    row.dataset.there = String(Boolean(drafter));
    const remove = there(row.querySelector(".sv-raceform-remove"));
    remove.setAttribute("aria-label", "Remove lane " + (place + 1));
    hints[place].textContent = hint(drafter, settings || "", drawer.dataset.target || "");
  }
  const preset = Object.keys(stage.config.presets).find((name) =>
    same(stage.config.presets[name].lanes, typed),
  );
  for (const name of Object.keys(stage.config.presets)) {
    const button = there(drawer.querySelector("#sv-raceform-" + name));
    button.setAttribute("aria-pressed", String(name === preset));
  }
  const said = preset ? stage.config.presets[preset].said : "Your own choice of lanes.";
  there(drawer.querySelector("#sv-raceform-said p")).textContent = said;
  return true;
}

// Show the fields of the open lane, and the state of the buttons that open them.
/** @param {HTMLElement} drawer @param {Slots} typed */
function showFields(drawer, typed) {
  const open = edited >= 0,
    name = typed[2 * edited] || "";
  drawer.querySelectorAll(".sv-raceform-edit").forEach((button, place) => {
    button.setAttribute("aria-label", "Settings of lane " + (place + 1));
    button.setAttribute("aria-controls", "sv-raceform-fields");
    button.setAttribute("aria-expanded", String(place === edited));
  });
  drawer.dataset.edits = open ? String(edited + 1) : "";
  const box = there(byId("sv-raceform-fields"));
  box.dataset.reads = open ? known(name).reads.join(" ") : "";
  const called = name in stage.config.drafters ? known(name).title : nameOf(name);
  there(box.querySelector("h2")).textContent = "Settings of lane " + (edited + 1) + ": " + called;
}

// The form's values for a recorded race; unchanged if its recipe is unknown.
/** @param {string} name @param {Filled} filled */
function follow(name, filled) {
  edited = -1;
  return stage.config.recorded[name] || filled;
}

// The page's URL may name another recorded race than the first.
const asked = new URLSearchParams(location.search).get("race");

/** @param {Filled} chosen */
function linked([chosen, ...filled]) {
  return asked && asked in stage.config.recorded
    ? [asked, ...follow(asked, filled)]
    : [chosen, ...filled];
}

/** @type {Start<FormConfig>} */
export function start(element, props, _watch, trigger, config) {
  stage.set(element, props, config);
  window.specviz.raceform = {
    add,
    remove,
    edit,
    fields,
    write,
    /** @param {string} name */
    preset(name) {
      edited = -1;
      return stage.config.presets[name].lanes;
    },
    suits,
    show,
    follow,
    linked,
  };
  $("button").addEventListener("click", () => {
    const open = document.body.classList.toggle(OPEN);
    $("button").setAttribute("aria-expanded", String(open));
  });
  const ready = () => show(stage.config.first) || requestAnimationFrame(ready);
  ready();
  if (asked && asked in stage.config.recorded && asked !== Object.keys(stage.config.recorded)[0])
    trigger(stage.config.event);
}
