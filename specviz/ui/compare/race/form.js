// The form of a race: its settings in one sentence, on the button that opens the rest of them; lanes
// that come and go; what a preset or a recorded race says. Values are lists in the form's order.

import { byId } from "../../shared/dom.js";
import { Stage } from "../../shared/stage.js";

const OPEN = "sv-raceform-open";
const stage = new Stage();
const { $ } = stage;
const shared = () => stage.config.first.length - 2 * stage.config.most; // values before those of the lanes

// Lanes that are there, as pairs of a drafter and its settings.
function lanesOf(values) {
  const pairs = Array.from({ length: stage.config.most }, (_, place) =>
    values.slice(2 * place, 2 * place + 2),
  );
  return pairs
    .filter(([drafter]) => drafter)
    .map(([drafter, settings]) => [drafter, settings || ""]);
}

// The form's values of these lanes: the others have no drafter.
function slots(lanes) {
  return Array.from({ length: stage.config.most }, (_, place) => lanes[place] || [null, ""]).flat();
}

const same = (one, other) =>
  JSON.stringify(slots(lanesOf(one))) === JSON.stringify(slots(lanesOf(other)));
const known = (name) => stage.config.drafters[name] || stage.config.drafters["draft-model"];
const suits = (name) => (name ? known(name).suits : "");
const nameOf = (path) =>
  path
    .trim()
    .replace(/[\\/]+$/, "")
    .split(/[\\/]/)
    .pop();

function add(values) {
  const lanes = lanesOf(values),
    there = lanes.map(([drafter]) => drafter);
  const preset = Object.values(stage.config.presets)[0].lanes.filter((_, place) => place % 2 === 0);
  const next = [...preset, ...Object.keys(stage.config.drafters)].find(
    (name) => name && !there.includes(name),
  );
  return slots([...lanes, [next, suits(next)]].slice(0, stage.config.most));
}

function remove(place, values) {
  const lanes = lanesOf(values);
  if (lanes.length <= stage.config.fewest) return values;
  if (place === lanes.length - 1) setTimeout(() => byId("sv-raceform-add").focus(), 100);
  return slots(lanes.filter((_, at) => at !== place));
}

function hint(name, settings) {
  if (!name) return "";
  const { reads, title, suits: best } = known(name);
  const whose = name in stage.config.drafters ? title : "A draft model";
  const said = whose + " reads " + reads.join(", ") + ", and rule.";
  return settings.trim() === best ? said + " This suits it." : said + " Suits it: " + best;
}

function show(values) {
  const [model, temperature, , , seed, tokens] = values;
  const typed = values.slice(shared()),
    lanes = lanesOf(typed);
  const [many, , target, rest] = $(".sv-said").children;
  many.textContent = lanes.length === 1 ? "1 drafter" : lanes.length + " drafters";
  target.textContent = stage.config.targets[model] || nameOf(model || "") || "House";
  rest.textContent = ["", "T " + temperature, tokens + " tokens", "seed " + seed].join(" · ");
  $("button").title = $("button").textContent.trim();
  return showDrawer(typed);
}

// False while the page is still putting the drawer together.
function showDrawer(typed) {
  const drawer = byId("sv-raceform-drawer");
  const hints = drawer ? drawer.querySelectorAll(".sv-raceform-hint p") : [];
  const needed = ["said p", ...Object.keys(stage.config.presets)].map(
    (name) => "#sv-raceform-" + name,
  );
  const there = drawer && needed.every((one) => drawer.querySelector(one));
  if (
    !there ||
    hints.length < stage.config.most ||
    drawer.querySelectorAll(".sv-raceform-remove").length < stage.config.most
  )
    return false;
  const lanes = lanesOf(typed);
  drawer.dataset.lanes = String(lanes.length);
  for (let place = 0; place < stage.config.most; place += 1) {
    const row = byId("sv-raceform-lane-" + (place + 1));
    const [drafter, settings] = typed.slice(2 * place);
    row.dataset.there = String(Boolean(drafter));
    row
      .querySelector(".sv-raceform-remove")
      .setAttribute("aria-label", "Remove lane " + (place + 1));
    hints[place].textContent = hint(drafter, settings || "");
  }
  const preset = Object.keys(stage.config.presets).find((name) =>
    same(stage.config.presets[name].lanes, typed),
  );
  for (const name of Object.keys(stage.config.presets)) {
    drawer
      .querySelector("#sv-raceform-" + name)
      .setAttribute("aria-pressed", String(name === preset));
  }
  const said = preset ? stage.config.presets[preset].said : "Lanes of your own.";
  drawer.querySelector("#sv-raceform-said p").textContent = said;
  return true;
}

// The form's values of a recorded race; as they were where nobody knows how it was made.
const follow = (name, filled) => stage.config.recorded[name] || filled;

// A link in the page's address opens another recorded race than the first.
const asked = new URLSearchParams(location.search).get("race");

function linked([chosen, ...filled]) {
  return asked in stage.config.recorded ? [asked, ...follow(asked, filled)] : [chosen, ...filled];
}

export function start(element, props, _watch, trigger, config) {
  stage.set(element, props, config);
  window.specviz.raceform = {
    add: (lanes) => add(lanes),
    remove,
    preset: (name) => stage.config.presets[name].lanes,
    suits,
    show,
    follow,
    linked,
  };
  $("button").addEventListener("click", () => {
    const open = document.body.classList.toggle(OPEN);
    $("button").setAttribute("aria-expanded", open);
  });
  const ready = () => show(stage.config.first) || requestAnimationFrame(ready);
  ready();
  if (asked in stage.config.recorded && asked !== Object.keys(stage.config.recorded)[0])
    trigger(stage.config.event);
}
