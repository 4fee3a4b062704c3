// The contents as links, one line on where α and γ come from, and a list of other sources of α and
// γ.

import { Stage } from "../../shared/stage";
import { there } from "../../shared/there";
import { render } from "../../shared/view";
import { linkedText, onScreen } from "../shared/address";
import { Options } from "../shared/fields";
import { reveal } from "../shared/part";
import { originOf, pairOf, runs } from "../shared/runs";
import { begin, onTerms, relabel, setTerms, shown, terms, told } from "../shared/terms";

import type { NamedPoint, Start } from "../../shared/section";
import type { Which } from "../shared/runs";
import type { Origin } from "../shared/terms";
import type { Option } from "../shared/fields";
import type { Config, Preset } from "./__init__.py";

const stage: Stage<Config> = new Stage();
const { $ } = stage;
const OTHERWISE: Record<Origin["kind"], string> = {
  start: "an example",
  choice: "your own values",
  link: "the link",
  run: "an earlier run",
  server: "your server",
  published: "a source",
};
const MEASURED: [Which, string][] = [
  ["step", "last run on Step"],
  ["compare", "lane of Compare"],
];

const runOf = (which: Which): NamedPoint | null | undefined =>
  which === "step" ? window.specviz.measured : runs.compare;

const presetOf = (key: string | undefined) => stage.config.presets.find(({ name }) => name === key);

const published = ({ name, said, on, guesses, drafter }: Preset): Origin => ({
  kind: "published",
  key: name,
  said,
  on,
  guesses,
  drafter,
});

const Group = (label: string, pairs: Option[]) =>
  pairs.length > 0 && <optgroup label={label}>{Options(pairs)}</optgroup>;

// Show the current origin of α in the list, with the other possible ones.
function showList() {
  const { alpha: from } = terms.from;
  const known = MEASURED.flatMap(([which, title]) => {
    const run = runOf(which);
    return run ? [{ which, title, run }] : [];
  });
  const measured: Option[] = known.map(({ which, title, run }) => [
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

const list: () => HTMLSelectElement = () => $(".sv-terms-from");

const Source = ({ how, source: [title, href] }: Preset) => [
  how + " Source: ",
  <a href={href} target="_blank" rel="noopener noreferrer">
    {title}
  </a>,
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

function jump(event: MouseEvent) {
  const link = event.target instanceof Element && event.target.closest("a");
  const heading = link && document.getElementById(there(link.getAttribute("href")).slice(1));
  if (!heading) return;
  event.preventDefault();
  if (narrow.matches) contents().open = false;
  reveal(heading);
}

const contents: () => HTMLDetailsElement = () => $(".sv-terms-contents");

// On a phone, the contents are collapsed.
const narrow = matchMedia("(max-width: 760px)");
function fold() {
  contents().open = !narrow.matches;
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
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
};
