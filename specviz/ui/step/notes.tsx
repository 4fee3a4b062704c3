// The window of the speaker notes, which stands alone. The page that opened it sends what is on
// screen, and does what the buttons and keys here ask for.

import { inline, sentencePart } from "../shared/sentence";
import { required } from "../shared/required";
import { Button, render, Token } from "../shared/view";

import type { Answer, SpeakerState } from "./present";

const page: Window | null = window.opener;
const BEAT = 1000; // ms between two questions to the page
const SILENT = 3000; // ms without an answer after which the page is thought to be gone
const ALONE =
  "These notes belong to a window in presenter mode. In the window with the run, choose Present on Step, then press N.";
const LOST = "The window with the run does not answer. It may be closed or still loading.";
/** The keys of the page, and what presentation remotes send. */
const KEYS: Record<string, string> = {
  ArrowRight: "next",
  PageDown: "next",
  ArrowLeft: "back",
  PageUp: "back",
};

let shown: SpeakerState | null = null;
let heard = performance.now();
let begun = performance.now(); // for a class without a plan

const send = (ask: string) => page?.postMessage({ sv: "notes", ask }, location.origin);

const two = (number: number) => String(number).padStart(2, "0");

function clock() {
  const elapsed = shown?.begun ? Date.now() - shown.begun : performance.now() - begun;
  const seconds = Math.floor(Math.max(0, elapsed) / 1000);
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
  const disabled = shown?.next === null; // there is no run on screen
  render(
    [
      <div class="head" key="head">
        <span class="clock" role="timer" aria-label="Elapsed time">
          {clock()}
        </span>
        {shown?.begun ? null : Button("Restart the clock", restart, { class: "restart" })}
        {Button("Back", () => send("back"), { "data-ask": "back", disabled })}
        {Button("Next", () => send("next"), { class: "main", "data-ask": "next", disabled })}
      </div>,
      <p role="alert" key="problem">
        {problem()}
      </p>,
      shown && (
        <div key="notes">
          {Moment(shown)}
          {Lesson(shown)}
        </div>
      ),
      <p class="keys" key="keys">
        {shown?.lesson
          ? "Keys: Page Up and Page Down lead through the lesson, ← → step the run."
          : "Keys: ← → or Page Up and Page Down step the run."}
      </p>,
    ],
    required(document.querySelector("main")),
  );
}

const Moment = ({ label, sentence, next }: SpeakerState) => [
  <h2>On the screen</h2>,
  <p class="say">
    <b>{label}</b> {sentence.map(sentenceOf)}
  </p>,
  next && [<h2>Next step</h2>, Following(next)],
];

const Following = ([name, token]: NonNullable<SpeakerState["next"]>) => (
  <p class="next">
    {name.replace("Next: ", "")}
    {token && [" ", Token(token)]}
  </p>
);

const sentenceOf = (part: SpeakerState["sentence"][number]) => sentencePart(part);

function Lesson({ lesson }: SpeakerState) {
  if (!lesson)
    return <p class="keys">No lesson is open. Lessons come with notes for the speaker.</p>;
  const { name, title, at, steps, notes, answer, next } = lesson;
  return [
    <h2>{`Lesson: ${name}, step ${at + 1} of ${steps}`}</h2>,
    <p class="title">
      <b>{title}</b>
    </p>,
    <h2>What to say</h2>,
    <div class="notes">
      {notes.map((each) => (
        <p>{inline(each)}</p>
      ))}
    </div>,
    answer && [<h2>Answer to the question</h2>, <p>{inline(answer)}</p>],
    <h2>Next in the lesson</h2>,
    <p class="following">{next || "The lesson ends here."}</p>,
    <div class="head">
      {Button("Back in the lesson", () => send("lesson-back"), { disabled: at === 0 })}
      {Button("Next in the lesson", () => send("lesson-next"), { disabled: !next })}
    </div>,
  ];
}

window.addEventListener("message", ({ origin, source, data }) => {
  if (origin !== location.origin || source !== page || data?.sv !== "notes") return;
  heard = performance.now();
  shown = (data as Answer).state;
  document.documentElement.classList.toggle("dark", required(shown).dark);
  draw();
});

window.addEventListener("keydown", (event) => {
  const step = KEYS[event.key];
  const ask = shown?.lesson && event.key.startsWith("Page") ? "lesson-" + step : step;
  if (!step || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  send(ask);
});

function beat() {
  send("state");
  draw();
}

setInterval(beat, BEAT);
beat();
