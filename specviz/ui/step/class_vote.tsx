// A class vote: the teacher's page opens a room, asks the class, and draws the answers as they
// arrive. The questions are that of the open lesson, if it has one, and otherwise those of "Predict
// first": each verdict before it is shown.

import { flat, typed } from "../shared/dom";
import { isLocal, SERVER } from "../shared/server";
import { required } from "../shared/required";
import { session } from "../shared/storage";
import { lesson, moment } from "../shared/store";
import { Button, classes, render } from "../shared/view";
import { frameAt, player, questionAt, repaint } from "./state";
import { notice } from "./live";
import { predictFirst } from "./predict_first";
import { stage } from "./stage";
import { tokensBefore } from "./worksheet";

import type { TrialPanel } from "../../frames/inspector.py";
import type { LessonQuestion } from "../shared/store";
import type { VoteQuestion, VoteState } from "../votes.py";

const ADDRESS = new URL("votes", SERVER);
const PHONES = new URL("../../vote/", SERVER);
const TEXT_CHARACTERS = 400; // characters of the text before the guess
const GUESS_CHARACTERS = 80; // characters of the guess
const ASK_CHARACTERS = 600; // characters of a lesson's question
const OPTION_CHARACTERS = 300; // characters of an option
export const UNREACHABLE =
  "Phones cannot open this address: start the server with specviz serve --host 0.0.0.0, and open this page at the machine’s address in the network.";
const KEPT = "sv-vote-room"; // the room of this visit, for a page that is reloaded
const RETRY = 5000; // ms after which the page tries again to follow its room
const OVER = "The class vote is over: the server has no such room any more.";
const LOST = "The server was not reached, so the class was not asked.";

/** large: whether the code is as large as a class needs it to join; the answers need less space. */
type Room = {
  code: string;
  key: string;
  qr: string;
  source: EventSource;
  shown: VoteState;
  large: boolean;
};

/** What the class is asked: the verdict; the lesson's question; the step at which answers are shown. */
type Asked = {
  asked: string;
  open: { id: string; at: number; answer: number } | null;
  shownAt: string;
};

let room: Room | null = null;
let { asked, open, shownAt }: Asked = { asked: "", open: null, shownAt: "" };
let returns = false; // whether the page was reloaded and the lesson that it asks about is not back yet
let sending = Promise.resolve(); // questions in the order in which the teacher moved to them

async function post(path: string, data: object) {
  const response = await fetch(ADDRESS.href + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(data),
  });
  return response.json();
}

/** The button that opens a room. */
export const AskTheClass = () =>
  room || !stage.config.served
    ? null
    : Button("Ask the class", openRoom, { class: "sv-link sv-ask-class" });

async function openRoom() {
  if (room || !player.rounds.length) return;
  try {
    const phones = isLocal() ? {} : { phones: PHONES.href };
    const { code, key, qr, problem } = await post("", phones);
    if (problem) return notice(problem);
    enter(code, key, qr);
    follow();
    paint();
  } catch {
    notice(LOST);
  }
}

function enter(code: string, key: string, qr: string) {
  room = { code, key, qr, source: listen(code, key), shown: { number: 0 }, large: true };
  document.body.classList.add("sv-in-vote");
  predictFirst();
}

/** Return to the room that the page had before it was reloaded. */
function returnToRoom() {
  const kept = session.read<Pick<Room, "code" | "key" | "qr"> & Asked>(KEPT);
  if (!kept) return;
  ({ asked, open, shownAt } = kept);
  returns = true;
  enter(kept.code, kept.key, kept.qr);
}

function keep({ code, key, qr }: Room) {
  session.set(KEPT, JSON.stringify({ code, key, qr, asked, open, shownAt }));
}

function listen(code: string, key: string) {
  const lines = `${ADDRESS.href}/${code}/lines?key=${key}`;
  const source = new EventSource(lines);
  source.onmessage = ({ data }) => hear(JSON.parse(data));
  source.onerror = () => source.readyState === EventSource.CLOSED && check(lines, source);
  return source;
}

// The server has refused the stream: with status 204 if the room is over.
async function check(lines: string, source: EventSource) {
  const stopped = new AbortController();
  const answer = await fetch(lines, { signal: stopped.signal }).catch(() => null);
  stopped.abort();
  if (room?.source !== source) return;
  if (answer?.status === 204) {
    leave();
    return notice(OVER);
  }
  setTimeout(() => {
    if (room?.source === source) room.source = listen(room.code, room.key);
  }, RETRY);
}

function hear(state: VoteState) {
  if (!room) return;
  if (state.number > 1 && state.number !== room.shown.number) room.large = false;
  if (state.revealed !== undefined) room.large = false;
  room.shown = state;
  if (state.closed) leave();
  else paint();
}

function close() {
  const { code, key } = required(room);
  leave();
  post("/" + code + "/close", { key }).catch(() => {}); // it ends by itself, too
}

function leave() {
  room?.source.close();
  room = null;
  session.set(KEPT);
  asked = "";
  open = null;
  document.body.classList.remove("sv-in-vote");
  paint();
  repaint(); // the button is back
}

function tell(act: string, data: object) {
  const { code, key } = required(room);
  sending = sending.then(async () => {
    try {
      const { problem } = await post("/" + code + "/" + act, { ...data, key });
      if (problem) notice(problem);
    } catch {
      notice(LOST);
    }
  });
}

const stepOfLesson = () => (lesson.value ? `${lesson.value.id}.${lesson.value.notes.at}` : "");

// The teacher has moved or answered: reveal the question that was left, and ask a new one.
function follow() {
  returns &&= open !== null && !lesson.value;
  if (!room || returns) return;
  askOrReveal(room);
  keep(room);
}

function askOrReveal(shown: Room) {
  const { id = "", notes, question = null } = lesson.value ?? {};
  if (open && (open.id !== id || hasPassed(open, required(notes).at, question))) {
    tell("reveal", { verdict: String(open.answer) });
    shown.large = false; // the class has joined and answered
    open = null;
    shownAt = stepOfLesson();
  }
  if (!question) return followRun();
  const at = required(notes).at;
  if (!question.known && at !== open?.at) askLesson(id, at, question);
}

// A teacher who goes back comes again, so the question stays open.
const hasPassed = (left: { at: number }, at: number, question: LessonQuestion | null) =>
  at > left.at || (at === left.at && question?.known);

function askLesson(id: string, at: number, { ask, options, answer }: LessonQuestion) {
  tell("ask", { ask: cut(ask, ASK_CHARACTERS), options: options.map(cutOption) });
  open = { id, at, answer };
  asked = "";
  shownAt = stepOfLesson();
}

const keyOf = (...place: number[]) => [player.run?.id, ...place].join("/");

// A reloaded page, too, is before the verdict that the class is asked for, so it stays open.
function followRun() {
  const key = player.question ? keyOf(...player.question) : "";
  if (key && key !== asked) {
    tell("ask", questionHere());
    open = null;
    shownAt = stepOfLesson();
    asked = key;
  } else if (!key && asked === keyOf(player.at.round, player.at.step)) reveal();
}

function reveal() {
  const { panel } = frameAt(player.at.round, player.at.step);
  if (panel.kind !== "trial" || panel.asked) return;
  tell("reveal", { verdict: panel.accepted ? "accepted" : "rejected" });
  asked = "";
}

const cut = (text: string, most: number) =>
  text.length > most ? "…" + text.slice(1 - most) : text;

const cutOption = (option: string) => cut(option, OPTION_CHARACTERS);

function questionHere(): Partial<VoteQuestion> {
  const place = required(player.question);
  const panel = questionAt(...place).panel as TrialPanel;
  return {
    text: cut(
      required(player.run).prompt + tokensBefore(place).map(typed).join(""),
      TEXT_CHARACTERS,
    ),
    guess: cut(flat(panel.w), GUESS_CHARACTERS),
    p: panel.p === undefined ? "" : (panel.text?.p ?? ""),
    q: panel.text && "q" in panel.text ? (panel.text.q ?? "") : "",
  };
}

/** The number of answers; which ones, only after the verdict, so that nobody follows the others. */
function Answers({ question, counts = {}, revealed }: VoteState) {
  const all = Object.values(counts).reduce((sum, number) => sum + number, 0);
  if (!revealed)
    return (
      <p class="sv-vote-all">
        <b data-count="all">{all}</b>
        {all === 1 ? " answer" : " answers"}
      </p>
    );
  const { ask, options = [] } = question ?? {};
  const label = (name: string) =>
    options[Number(name)] ?? (name === "accepted" ? "Accepted" : "Rejected");
  const here = lesson.value?.question?.known; // the question is on screen
  return [
    here || !ask ? null : <p key="ask">{ask}</p>,
    ...Object.keys(counts).map((name) => Bar(name, label(name), counts, revealed)),
  ];
}

function Bar(name: string, label: string, counts: Record<string, number>, revealed: string) {
  const most = Math.max(...Object.values(counts), 1);
  const right = revealed === name;
  return (
    <p key={name} class={"sv-vote-bar" + (right ? " sv-vote-right" : "")}>
      <span>{label + (right ? " ✓" : "")}</span>
      <span>
        <i style={{ width: (100 * counts[name]) / most + "%" }} />
      </span>
      <b data-count={name}>{counts[name]}</b>
    </p>
  );
}

// It is below the panel of lessons, which every tab has.
function paint() {
  const place = document.querySelector("#sv-lesson .sv-vote-holder");
  if (place) render(room && Vote(room), place);
}

const Vote = ({ code, qr, shown, large }: Room) => (
  <section class={classes("sv-vote", large && "sv-vote-large")} aria-label="Class vote">
    <div class="sv-vote-room">
      {large && qr && <img src={qr} alt="QR code of the address below" />}
      <div>
        <p class="sv-vote-code">{code}</p>
        <p class="sv-vote-address">{new URL(code, PHONES).href}</p>
        {large && !qr && <p>{UNREACHABLE}</p>}
        <p class="sv-vote-links">
          {Button(large ? "Smaller" : "Larger", resize, { class: "sv-link" })}
          {Button("Close the vote", close, { class: "sv-link" })}
        </p>
      </div>
    </div>
    <div role="status">
      {shown.question && (!shown.revealed || shownAt === stepOfLesson()) ? (
        Answers(shown)
      ) : (
        <p>
          {lesson.value
            ? "The phones wait for the lesson’s next question."
            : "The phones wait. On Step, the class predicts each verdict before it is shown."}
        </p>
      )}
    </div>
  </section>
);

function resize() {
  const shown = required(room);
  shown.large = !shown.large;
  paint();
}

/** Ask and reveal questions as the teacher steps. */
export function startVotes() {
  returnToRoom();
  for (const shared of [moment, lesson]) shared.on(follow);
  lesson.on(paint);
}
