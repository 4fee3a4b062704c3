// The contents as links, the origin of α and γ in one line, and a list of other sources for them.

import { byId, el } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { linkedText, onScreen } from "../shared/address.js";
import { originOf, pairOf, runs } from "../shared/runs.js";
import { begin, onTerms, relabel, setTerms, shown, terms, told } from "../shared/terms.js";
import { $, stage } from "./stage.js";

/** @import { NamedPoint, Start } from "../../shared/data.js" */
/** @import { Origin, Which } from "../shared/data.js" */
/** @import { Config, Preset } from "./data.js" */

/** @type {Record<Origin["kind"], string>} */
const OTHERWISE = {
  start: "an example",
  choice: "your own values",
  link: "the link",
  run: "an earlier run",
  server: "your server",
  published: "a source",
};
/** @type {[Which, string][]} */
const MEASURED = [
  ["step", "last run on Step"],
  ["compare", "lane of Compare"],
];

/** @param {Which} which @returns {NamedPoint | null | undefined} */
const runOf = (which) => (which === "step" ? window.specviz.measured : runs.compare);

/** @param {Preset} preset @returns {Origin} */
const published = ({ name, said, on, guesses, drafter }) => ({
  kind: "published",
  key: name,
  said,
  on,
  guesses,
  drafter,
});

/** @param {string} value @param {string} title */
function option(value, title) {
  const made = el("option", "", title);
  made.value = value;
  return made;
}

/** @param {string} label @param {HTMLOptionElement[]} options */
function group(label, options) {
  const made = el("optgroup", "", ...options);
  made.label = label;
  return options.length ? made : null;
}

/** @type {() => HTMLSelectElement} */
const list = () => $(".sv-terms-from");

// The list shows the present origin of α and offers the others.
function showList() {
  const { alpha: from } = terms.from;
  /** @type {[Which, string, NamedPoint][]} */
  const known = MEASURED.flatMap(([which, title]) => {
    const run = runOf(which);
    return run ? [[which, title, run]] : [];
  });
  const measured = known.map(([which, title, run]) =>
    option(which, `${title}: ${run.name}, α ${run.alpha.toFixed(2)}, γ ${run.gamma.toFixed(1)}`),
  );
  const presets = stage.config.presets.map(({ name, title }) => option(name, title));
  const now = known.some(([which, , run]) => originOf(run, which).said === from.said);
  const listed = from.kind === "published" || now;
  const groups = [group("Measured here", measured), group("Published", presets)];
  list().replaceChildren(
    option("", listed ? "your own values" : OTHERWISE[from.kind]),
    ...groups.filter((each) => each !== null),
  );
  list().value = listed ? there(from.key) : "";
}

function showTerms() {
  const { alpha, gamma } = shown();
  const whole = told();
  const said = $(".sv-terms-said");
  if (said.textContent !== whole) said.textContent = whole;
  list().setAttribute("aria-label", `Take α and γ from; now α ${alpha} and γ ${gamma}`);
  showList();
  const { key, kind } = terms.from.alpha;
  const preset = kind === "published" && stage.config.presets.find(({ name }) => name === key);
  const how = $(".sv-terms-how");
  if (!preset) {
    how.style.minHeight = how.offsetHeight + "px"; // the layout must not shift under the slider that changes α
    how.replaceChildren();
    return;
  }
  how.hidden = false;
  how.style.minHeight = "";
  const [title, url] = preset.source;
  const link = el("a", "", title);
  link.href = url;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  how.replaceChildren(preset.how + " Source: ", link, ".");
}

function choose() {
  const { value } = list();
  const run = MEASURED.some(([which]) => which === value) && runOf(/** @type {Which} */ (value));
  if (run) return setTerms(pairOf(run), originOf(run, /** @type {Which} */ (value)));
  const preset = stage.config.presets.find(({ name }) => name === value);
  if (!preset) return setTerms({ alpha: terms.alpha, gamma: terms.gamma });
  const { alpha, gamma } = preset;
  return setTerms(gamma === null ? { alpha } : { alpha, gamma }, published(preset));
}

// A link that names a source and has its numbers.
function fromLink() {
  const preset = stage.config.presets.find(({ name }) => name === linkedText("from"));
  if (!preset || preset.alpha !== terms.alpha) return;
  relabel("alpha", published(preset));
  if (preset.gamma === terms.gamma) relabel("gamma", published(preset));
}

/** @param {MouseEvent} event */
function jump(event) {
  const link = event.target instanceof Element && event.target.closest("a");
  const heading = link && byId(there(link.getAttribute("href")).slice(1));
  if (!heading) return;
  event.preventDefault();
  if (matchMedia("(max-width: 760px)").matches) contents().open = false;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ block: "start" });
}

/** @type {() => HTMLDetailsElement} */
const contents = () => $(".sv-terms-contents");

// Collapsed on a phone, open on wider screens.
function fold() {
  const narrow = matchMedia("(max-width: 760px)");
  const set = () => {
    contents().open = !narrow.matches;
  };
  narrow.addEventListener("change", set);
  set();
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  begin(config.terms);
  fold();
  $(".sv-terms-contents ul").addEventListener("click", jump);
  list().addEventListener("change", choose);
  onTerms(showTerms);
  window.addEventListener("sv-measured", showTerms);
  fromLink();
  showTerms();
  new ResizeObserver(() => onScreen(element.clientWidth > 0)).observe(element);
}
