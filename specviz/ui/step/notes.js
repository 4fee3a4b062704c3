// The window of the speaker notes, which stands alone. The page that opened it sends what is on
// screen, and does what the buttons and keys here ask for.

import { inline, sentencePart } from "../shared/sentence.js";
import { there } from "../shared/there.js";
import { Button, h, render, Token } from "../shared/view.js";

/** @import { Answer, SpeakerState } from "./present.js" */

/** @type {Window | null} */
const page = window.opener;
const BEAT = 1000; // ms between two questions to the page
const SILENT = 3000; // ms without an answer after which the page is thought to be gone
const ALONE =
  "These notes belong to a window in presenter mode. In the window with the run, choose Present on Step, then press N.";
const LOST = "The window with the run does not answer. It may be closed or still loading.";
/** The keys of the page, and what presentation remotes send. @type {Record<string, string>} */
const KEYS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back" };

/** @type {SpeakerState | null} */
let shown = null;
let heard = performance.now();
let begun = performance.now();

/** @param {string} ask */
const send = (ask) => page?.postMessage({ sv: "notes", ask }, location.origin);

const two = (/** @type {number} */ number) => String(number).padStart(2, "0");

function clock() {
  const seconds = Math.floor((performance.now() - begun) / 1000);
  return `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}`;
}

function restart() {
  begun = performance.now();
  draw();
}

function problem() {
  if (!page) return ALONE;
  if (page.closed || performance.now() - heard > SILENT) return LOST;
  return shown ? "" : "Connecting…";
}

function draw() {
  render(
    [
      h(
        "div",
        { class: "head", key: "head" },
        h("span", { class: "clock", role: "timer", "aria-label": "Elapsed time" }, clock()),
        Button("Restart the clock", restart, { class: "restart" }),
        Button("Back", () => send("back"), { "data-ask": "back" }),
        Button("Next", () => send("next"), { class: "main", "data-ask": "next" }),
      ),
      h("p", { role: "alert", key: "problem" }, problem()),
      shown && h("div", { key: "notes" }, Moment(shown), Lesson(shown)),
      h("p", { class: "keys", key: "keys" }, "Keys: ← → or Page Up and Page Down step the run."),
    ],
    there(document.querySelector("main")),
  );
}

/** @param {SpeakerState} state */
const Moment = ({ label, sentence, next: [name, token] }) => [
  h("h2", null, "On the screen"),
  h("p", { class: "say" }, h("b", null, label), " ", sentence.map(sentenceOf)),
  h("h2", null, "Next step"),
  h("p", { class: "next" }, name.replace("Next: ", ""), token && [" ", Token(token)]),
];

/** @param {SpeakerState["sentence"][number]} part */
const sentenceOf = (part) => sentencePart(part);

/** @param {SpeakerState} state */
function Lesson({ lesson }) {
  if (!lesson)
    return h("p", { class: "keys" }, "No lesson is open. Lessons come with notes for the speaker.");
  const { name, title, at, steps, notes, answer, next } = lesson;
  return [
    h("h2", null, `Lesson: ${name}, step ${at + 1} of ${steps}`),
    h("p", { class: "title" }, h("b", null, title)),
    h("h2", null, "What to say"),
    h(
      "div",
      { class: "notes" },
      notes.map((each) => h("p", null, inline(each))),
    ),
    answer && [h("h2", null, "Answer to the question"), h("p", null, inline(answer))],
    h("h2", null, "Next in the lesson"),
    h("p", { class: "following" }, next || "The lesson ends here."),
    h(
      "div",
      { class: "head" },
      Button("Back in the lesson", () => send("lesson-back"), { disabled: at === 0 }),
      Button("Next in the lesson", () => send("lesson-next"), { disabled: !next }),
    ),
  ];
}

window.addEventListener("message", ({ origin, source, data }) => {
  if (origin !== location.origin || source !== page || data?.sv !== "notes") return;
  heard = performance.now();
  shown = /** @type {Answer} */ (data).state;
  document.documentElement.classList.toggle("dark", there(shown).dark);
  draw();
});

window.addEventListener("keydown", (event) => {
  const ask = KEYS[event.key];
  if (!ask || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  send(ask);
});

function beat() {
  send("state");
  draw();
}

setInterval(beat, BEAT);
beat();
