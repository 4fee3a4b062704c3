// A class vote: the teacher's page opens a room, asks the class about each verdict before it is
// shown, and draws the answers as they arrive. The questions are those of "Predict first".

import { flat } from "../shared/dom.js";
import { SERVER } from "../shared/server.js";
import { there } from "../shared/there.js";
import { Button, h, render, toElement } from "../shared/view.js";
import { now, repaint } from "./cursor.js";
import { notice } from "./live.js";
import { predictFirst } from "./predict_first.js";
import { frameAt, questionAt, reel } from "./reel.js";
import { $, stage } from "./stage.js";
import { tokensBefore } from "./worksheet.js";

/** @import { TrialPanel } from "../../frames/inspector.py" */
/** @import { Word } from "../../frames/scene.py" */
/** @import { VoteQuestion, VoteState } from "../votes.py" */

const ADDRESS = new URL("votes", SERVER);
const PHONES = new URL("../../vote/", SERVER);
const LONGEST = 400; // characters of the text before the guess
const GUESS = 80; // characters of the guess
const LOST = "The server was not reached, so the class was not asked.";

/** @type {{ code: string, key: string, source: EventSource, shown: VoteState } | null} */
let room = null;
let asked = ""; // the verdict that the class predicts
let sending = Promise.resolve(); // questions in the order in which the teacher moved to them

/** @param {string} path @param {object} data */
async function post(path, data) {
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
    : Button("Ask the class", open, { class: "sv-link sv-ask-class" });

async function open() {
  if (room || !reel.rounds.length) return;
  try {
    const { code, key, problem } = await post("", {});
    if (problem) return notice(problem);
    const source = new EventSource(ADDRESS.href + "/" + code + "/lines?key=" + key);
    room = { code, key, source, shown: { number: 0 } };
    source.onmessage = ({ data }) => hear(JSON.parse(data));
    document.body.classList.add("sv-in-vote");
    predictFirst();
    follow();
    paint();
  } catch {
    notice(LOST);
  }
}

/** @param {VoteState} state */
function hear(state) {
  if (!room) return;
  room.shown = state;
  if (state.closed) leave();
  else paint();
}

function close() {
  const { code, key } = there(room);
  leave();
  post("/" + code + "/close", { key }).catch(() => {}); // it ends by itself, too
}

function leave() {
  room?.source.close();
  room = null;
  asked = "";
  document.body.classList.remove("sv-in-vote");
  paint();
  repaint(); // the button is back
}

/** @param {string} act @param {object} data */
function tell(act, data) {
  const { code, key } = there(room);
  sending = sending.then(async () => {
    try {
      const { problem } = await post("/" + code + "/" + act, { ...data, key });
      if (problem) notice(problem);
    } catch {
      notice(LOST);
    }
  });
}

// The teacher has moved: reveal the question that was left, and ask a new one.
function follow() {
  if (!room) return;
  const key = now.question ? there(reel.run).id + "/" + now.question.join("/") : "";
  if (key && key !== asked) tell("ask", questionHere());
  else if (!key && asked) reveal();
  asked = key;
}

// If the teacher went back instead, there is nothing to reveal.
function reveal() {
  const { panel } = frameAt(now.at.round, now.at.step);
  if (panel.kind === "trial" && !panel.asked)
    tell("reveal", { verdict: panel.accepted ? "accepted" : "rejected" });
}

// Return a token as it appears in the text.
/** @param {Word} pieces */
const plain = (pieces) => {
  const spaces = { space: " ", newline: "\n", tab: "\t", return: "" };
  return pieces
    .map((piece) => (typeof piece === "object" && piece.g ? spaces[piece.g] : flat([piece])))
    .join("");
};

/** @returns {VoteQuestion} */
function questionHere() {
  const place = there(now.question);
  const panel = /** @type {TrialPanel} */ (questionAt(...place).panel);
  const cut = (/** @type {string} */ text, /** @type {number} */ most) =>
    text.length > most ? "…" + text.slice(1 - most) : text;
  return {
    text: cut(there(reel.run).prompt + tokensBefore(place).map(plain).join(""), LONGEST),
    guess: cut(flat(panel.w), GUESS),
    p: panel.p === undefined ? "" : (panel.text?.p ?? ""),
    q: panel.text && "q" in panel.text ? (panel.text.q ?? "") : "",
  };
}

/** @param {"accepted" | "rejected"} name @param {string} label @param {VoteState} state */
function Bar(name, label, { counts = { accepted: 0, rejected: 0 }, revealed }) {
  const most = Math.max(counts.accepted, counts.rejected, 1);
  const right = revealed === name;
  return h(
    "p",
    { class: "sv-vote-bar" + (right ? " sv-vote-right" : "") },
    h("span", null, label + (right ? " ✓" : "")),
    h("span", null, h("i", { style: { width: (100 * counts[name]) / most + "%" } })),
    h("b", { "data-count": name }, counts[name]),
  );
}

function paint() {
  const holder = $(".sv-vote-holder");
  if (!room) return render(null, holder);
  const { code, shown } = room;
  const local = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
  render(
    h(
      "section",
      { class: "sv-vote", "aria-label": "Class vote" },
      h(
        "div",
        null,
        h("p", { class: "sv-vote-code" }, code),
        h("p", { class: "sv-vote-address" }, new URL(code, PHONES).href),
        local && h("p", null, "Phones cannot open this address: see “Class vote” in the guide."),
        Button("Close the vote", close, { class: "sv-link" }),
      ),
      h(
        "div",
        { role: "status" },
        shown.question
          ? [Bar("accepted", "Accepted", shown), Bar("rejected", "Rejected", shown)]
          : h(
              "p",
              null,
              "Go to the next step: the class predicts each verdict before it is shown.",
            ),
      ),
    ),
    holder,
  );
  return undefined;
}

/** Ask and reveal questions as the teacher steps. */
export function startVotes() {
  $(".sv-caption").after(toElement(h("div", { class: "sv-vote-holder" })));
  window.addEventListener("sv-moment", follow);
}
