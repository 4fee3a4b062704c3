// A student's phone in a class vote: shows the question and sends one answer. This is a separate
// page, which contains nothing else.

import { required } from "../shared/required";
import { SERVER } from "../shared/server";
import { randomKey, session } from "../shared/storage";

import type { VoteQuestion, VoteState } from "../votes.py";

const code = location.pathname.split("/").at(-1) ?? "";
const ADDRESS = new URL("votes/" + encodeURIComponent(code) + "/", SERVER);
const RETRY = 5000; // ms after which a phone tries again that was refused
const KEPT = "sv-vote-" + code; // the latest answer of this phone, for a page that is reloaded

const part = (name: string) => document.getElementById(name) as HTMLElement;
const COUNTED = "Your answer is counted, and cannot be changed.";
const VERDICTS = [
  ["accepted", "Accepted"],
  ["rejected", "Rejected"],
];
const mine = session.read<{ phone: string; number: number; answer: string }>(KEPT) ?? {
  phone: randomKey(),
  number: 0,
  answer: "",
};
let number = 0; // number of the question on screen
let answers = VERDICTS; // its answers, and their texts

// Without storage, a phone that is reloaded counts as a new one.
const keep = () => session.set(KEPT, JSON.stringify(mine));

const say = (sentence: string) => {
  part("status").textContent = sentence;
};

/** @param right The right answer, once it is revealed; then no further answer counts. */
function mark(right?: string) {
  const answered = mine.number === number;
  for (const button of part("answers").querySelectorAll("button")) {
    button.disabled = answered || right !== undefined;
    button.classList.toggle("right", button.dataset.answer === right);
    button.setAttribute("aria-pressed", String(answered && button.dataset.answer === mine.answer));
  }
}

function show({ number: newest, question, revealed, closed }: VoteState) {
  number = newest;
  part("question").hidden = !question;
  if (closed) return say("The vote is over.");
  if (!question) return say("Room " + code.toUpperCase() + ". Wait for the first question.");
  ask(question);
  part("text").textContent = question.text;
  part("guess").textContent = question.guess;
  const numbers = [question.p && "p = " + question.p, question.q && "q = " + question.q];
  part("numbers").textContent = numbers.filter(Boolean).join(", ");
  mark(revealed);
  const answered = mine.number === number;
  if (!revealed) return say(answered ? COUNTED : "Your prediction?");
  const right = answers.find(([answer]) => answer === revealed)?.[1];
  const verdict = mine.answer === revealed ? "Right. " : "Not this time. ";
  return say(
    (answered ? verdict : "") +
      (question.ask ? `The answer is “${right}”. ` : `It was ${revealed}. `) +
      "Wait for the next question.",
  );
}

/** Show the question and a button for each answer. */
function ask({ ask: sentence, options }: VoteQuestion) {
  answers = options.length ? options.map((option, at) => [String(at), option]) : VERDICTS;
  part("decision").hidden = sentence !== "";
  part("ask").textContent = sentence || "Accepted or rejected?";
  part("answers").classList.toggle("long", options.length > 0);
  part("answers").replaceChildren(...answers.map(AnswerButton));
}

function AnswerButton([answer, text]: string[]) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", textContent: text });
  button.dataset.answer = answer;
  button.addEventListener("click", () => send(answer));
  return button;
}

async function send(answer: string) {
  Object.assign(mine, { number, answer });
  mark();
  try {
    const response = await fetch(new URL("answer", ADDRESS), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ phone: mine.phone, number: mine.number, answer }),
    });
    const { counts, problem } = await response.json();
    say(problem ?? (counts ? COUNTED : "This answer came too late."));
    keep();
  } catch {
    mine.number = 0;
    mark();
    say("The server was not reached. Try again.");
  }
}

function listen() {
  const lines = new URL("lines?phone=" + mine.phone, ADDRESS);
  const source = new EventSource(lines);
  source.onmessage = ({ data }: MessageEvent<string>) => {
    const state = JSON.parse(data);
    show(state);
    if (state.closed) source.close();
  };
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED)
      return say("The connection was lost. Trying again…");
    part("question").hidden = true;
    return explain(lines);
  };
}

/** Say why the server has refused the stream. */
async function explain(lines: URL) {
  const stopped = new AbortController();
  try {
    const response = await fetch(lines, { signal: stopped.signal });
    if (response.status === 204) {
      required(document.querySelector("form")).hidden = false;
      return say("There is no room with this code.");
    }
    if (response.status === 429) say((await response.json()).problem);
  } catch {
    say("The server was not reached. Trying again…");
  }
  stopped.abort();
  setTimeout(listen, RETRY);
}

if (code) {
  keep();
  listen();
}
