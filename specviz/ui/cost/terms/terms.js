// The contents as links, one line on where α and γ come from, and a list of other sources of α and
// γ.

import { Stage } from "../../shared/stage.js";
import { there } from "../../shared/there.js";
import { h, render } from "../../shared/view.js";
import { linkedText, onScreen } from "../shared/address.js";
import { Options } from "../shared/fields.js";
import { reveal } from "../shared/part.js";
import { originOf, pairOf, runs } from "../shared/runs.js";
import { begin, onTerms, relabel, setTerms, shown, terms, told } from "../shared/terms.js";

/** @import { NamedPoint, Start } from "../../shared/section.js" */
/** @import { Which } from "../shared/runs.js" */
/** @import { Origin } from "../shared/terms.js" */
/** @import { Option } from "../shared/fields.js" */
/** @import { Config, Preset } from "./__init__.py" */

/** @type {Stage<Config>} */
const stage = new Stage();
const { $ } = stage;
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

/** @param {string | undefined} key */
const presetOf = (key) => stage.config.presets.find(({ name }) => name === key);

/** @param {Preset} preset @returns {Origin} */
const published = ({ name, said, on, guesses, drafter }) => ({
  kind: "published",
  key: name,
  said,
  on,
  guesses,
  drafter,
});

/** @param {string} label @param {Option[]} pairs */
const Group = (label, pairs) => pairs.length > 0 && h("optgroup", { label }, Options(pairs));

// Show the current origin of α in the list, with the other possible ones.
function showList() {
  const { alpha: from } = terms.from;
  const known = MEASURED.flatMap(([which, title]) => {
    const run = runOf(which);
    return run ? [{ which, title, run }] : [];
  });
  /** @type {Option[]} */
  const measured = known.map(({ which, title, run }) => [
    which,
    `${title}: ${run.name}, α ${run.alpha.toFixed(2)}, γ ${run.gamma.toFixed(1)}`,
  ]);
  const now = known.some(({ which, run }) => originOf(run, which).said === from.said);
  const listed = from.kind === "published" || now;
  render(
    [
      Options([["", listed ? OTHERWISE.choice : OTHERWISE[from.kind]]]),
      Group("Measured here", measured),
      Group(
        "Published",
        stage.config.presets.map(({ name, title }) => [name, title]),
      ),
    ],
    list(),
  );
  list().value = listed ? there(from.key) : "";
}

/** @type {() => HTMLSelectElement} */
const list = () => $(".sv-terms-from");

/** @param {Preset} preset */
const Source = ({ how, source: [title, href] }) => [
  how + " Source: ",
  h("a", { href, target: "_blank", rel: "noopener noreferrer" }, title),
  ".",
];

function showTerms() {
  const { alpha, gamma } = shown();
  render(told(), $(".sv-terms-said"));
  list().setAttribute("aria-label", `Take α and γ from; now α ${alpha} and γ ${gamma}`);
  showList();
  const { key, kind } = terms.from.alpha;
  const preset = kind === "published" ? presetOf(key) : undefined;
  const how = $(".sv-terms-how");
  // The page must not move while the visitor drags the slider that changes α.
  how.style.minHeight = preset ? "" : how.offsetHeight + "px";
  if (preset) how.hidden = false;
  render(preset ? Source(preset) : null, how);
}

function choose() {
  const { value } = list();
  const measured = MEASURED.find(([which]) => which === value);
  const run = measured && runOf(measured[0]);
  if (run) return setTerms(pairOf(run), originOf(run, measured[0]));
  const preset = presetOf(value);
  if (!preset) return setTerms({ alpha: terms.alpha, gamma: terms.gamma });
  const { alpha, gamma } = preset;
  return setTerms(gamma === null ? { alpha } : { alpha, gamma }, published(preset));
}

// Read a link that has a source and its numbers.
function fromLink() {
  const preset = presetOf(linkedText("from") ?? "");
  if (!preset || preset.alpha !== terms.alpha) return;
  relabel("alpha", published(preset));
  if (preset.gamma === terms.gamma) relabel("gamma", published(preset));
}

/** @param {MouseEvent} event */
function jump(event) {
  const link = event.target instanceof Element && event.target.closest("a");
  const heading = link && document.getElementById(there(link.getAttribute("href")).slice(1));
  if (!heading) return;
  event.preventDefault();
  if (narrow.matches) contents().open = false;
  reveal(heading);
}

/** @type {() => HTMLDetailsElement} */
const contents = () => $(".sv-terms-contents");

// On a phone, the contents are collapsed.
const narrow = matchMedia("(max-width: 760px)");
function fold() {
  contents().open = !narrow.matches;
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  begin(config.terms);
  fold();
  narrow.addEventListener("change", fold);
  $(".sv-terms-contents ul").addEventListener("click", jump);
  list().addEventListener("change", choose);
  onTerms(showTerms);
  window.addEventListener("sv-measured", showTerms);
  fromLink();
  showTerms();
  new ResizeObserver(() => onScreen(element.clientWidth > 0)).observe(element);
}
