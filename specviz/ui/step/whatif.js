// "What if": another coin, or another guess. What follows at once is known; the rest is a new run,
// made with these coins laid by hand.

import { byId, el, percent } from "../shared/dom.js";
import { part } from "./caption.js";
import { coinTicks, sides } from "./coin.js";
import { go, pause } from "./cursor.js";
import { job, notice } from "./live.js";
import { now } from "./now.js";
import { feed, frameAt, reel, stepName } from "./reel.js";
import { $, stage } from "./stage.js";

let origin = null; // the run that was branched from: { text, round, step, rounds }

// A judged guess leads to its verdict; any other asks what it would take to come to it.
export function pickNode(node) {
  const judged = node < 0 ? "draw" : "judge-" + node;
  for (let step = 0; step <= now.at.step; step += 1) {
    if (stepName(now.at.round, step).id === judged) return go(now.at.round, step);
  }
  return node < 0 ? undefined : wonderAbout(node);
}

function wonder(parts, coins) {
  now.supposed = coins;
  const badge = $(".sv-verdict");
  badge.className = "sv-verdict sv-is-if";
  badge.replaceChildren("What if?");
  // On a narrow page the sentence is out of sight while the coin is dragged: it is said there too.
  for (const place of [$(".sv-say"), $(".sv-echo")].filter(Boolean)) {
    const buttons = coins ? [answerButton("Run it from here", branch)] : [];
    buttons.push(answerButton("Back", () => go(now.at.round, now.at.step)));
    place.replaceChildren(...parts.map(part), " ", el("span", "sv-answers", ...buttons));
  }
}

function answerButton(label, act) {
  const made = el("button", "sv-answer", label);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

// Another coin at the verdict on screen: on which side of the threshold it falls is certain.
function suppose(u, panel) {
  const { threshold } = panel.coin;
  const kept = u < threshold;
  const digits = digitsApart(u, threshold);
  /** @type {any[]} */
  const parts = ["Had the coin fallen at ", { n: u.toFixed(digits), as: "u" }];
  parts.push(kept ? ", below " : ", not below ", { n: said(threshold, digits), as: "both" }, ": ");
  parts.push({ w: panel.w }, kept === panel.accepted ? " would still be " : " would be ");
  parts.push(kept ? "kept. " : "rejected. ", ...panel.whatif[kept ? "kept" : "rejected"]);
  wonder(parts, { [panel.whatif.coin]: u });
  return u.toFixed(digits);
}

const said = (value, digits) => (value === 1 ? "1" : value.toFixed(digits));

// As many decimals as it takes to see on which side of the threshold a coin lies.
export function digitsApart(u, threshold) {
  for (let digits = 2; digits < 6; digits += 1) {
    const [at, bar] = [Number(u.toFixed(digits)), Number(threshold.toFixed(digits))];
    if (u < threshold ? at < bar : at > bar || u === threshold) return digits;
  }
  return 6;
}

// Hundredths read best; nearer to the threshold than that, what was pointed at.
export function snapped(u, threshold) {
  const inside = Math.min(Math.max(u, 0), 0.999);
  for (const unit of [100, 1000]) {
    const near = Math.min(Math.round(inside * unit) / unit, 0.999);
    if (near < threshold === inside < threshold) return near;
  }
  return inside;
}

export function movable(bar, pin, panel) {
  const { u, threshold } = panel.coin;
  let laid = u;
  const was = el("i", "sv-pin sv-pin-was");
  was.style.left = percent(u);
  const move = (to) => {
    laid = snapped(to, threshold);
    if (!was.isConnected) bar.insertBefore(was, pin);
    pin.style.left = percent(laid);
    for (const old of bar.querySelectorAll(".sv-side, .sv-hint")) old.remove();
    bar.append(...sides(threshold, laid, false));
    const text = suppose(laid, panel);
    bar.nextSibling.replaceWith(coinTicks(panel, laid, text));
    pin.setAttribute("aria-valuenow", text);
  };
  const pointed = (event) => {
    const box = bar.getBoundingClientRect();
    move((event.clientX - box.left) / box.width);
  };
  bar.classList.add("sv-movable");
  bar.title = "Drag the coin: what if it had fallen elsewhere?";
  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // or arrow keys would move the coin instead of stepping
    pause();
    bar.setPointerCapture(event.pointerId);
    pointed(event);
  });
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) pointed(event);
  });
  slider(pin, () => laid, move);
}

// The coin by keys: arrows move it, Enter runs it, Escape goes back to what happened.
function slider(pin, current, move) {
  const facts = { role: "slider", tabindex: "0", "aria-valuemin": "0", "aria-valuemax": "1" };
  for (const [name, value] of Object.entries(facts)) pin.setAttribute(name, value);
  pin.setAttribute("aria-label", "Coin: arrow keys ask what if, Enter runs it, Escape goes back");
  pin.setAttribute("aria-valuenow", String(current()));
  const to = {
    ArrowLeft: -0.01,
    ArrowDown: -0.01,
    ArrowRight: 0.01,
    ArrowUp: 0.01,
    PageDown: -0.1,
    PageUp: 0.1,
  };
  pin.addEventListener("keydown", (event) => {
    const by = to[event.key] || { Home: -1, End: 1 }[event.key];
    if (event.key === "Enter" && now.supposed) branch();
    else if (event.key === "Escape") go(now.at.round, now.at.step);
    else if (by) move(current() + by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// A guess that was not on trial: the verdicts that would lead to it and keep it.
function wonderAbout(node) {
  pause();
  const { nodes, ways } = frameAt(now.at.round, now.at.step).tree;
  const view = nodes[node];
  if (!ways) {
    wonder(
      [
        "At temperature 0 no coin decides: ",
        { w: view.w },
        " is kept only where it is the target's top token.",
      ],
      null,
    );
    return;
  }
  const done = { accepted: 1, rejected: 0 };
  const needed = ways[node].filter(([other, kept]) => done[nodes[other].is] !== kept);
  const [kept, fallen] = [1, 0].map((is) =>
    needed.filter((need) => need[1] === is).map(([other]) => ({ w: nodes[other].w })),
  );
  const parts = [{ w: view.w }, " at +" + view.depth + " would be in the text if "];
  if (fallen.length) parts.push(...listed(fallen), " fell and ");
  parts.push(...listed(kept), kept.length > 1 ? " were kept" : " was kept");
  const number = reel.rounds[now.at.round].number;
  const coins = needed.map(([other, kept]) => [
    number + " judge " + other,
    kept ? stage.config.laid.kept : stage.config.laid.fallen,
  ]);
  wonder([...parts, ". Lay the coins so?"], Object.fromEntries(coins));
}

function listed(words) {
  const between = (index) => (index === 0 ? "" : index === words.length - 1 ? " and " : ", ");
  return words.flatMap((each, index) => [between(index), each]);
}

// Asks the server for the run on screen once more, from its prompt on, with the supposed coins.
function branch() {
  if (job.number) return notice("Another run is still being made. Stop it, or wait for its end.");
  const { round, step } = now.at;
  origin = {
    text: reel.text,
    round: reel.rounds[round].number,
    step: stepName(round, step).id,
    rounds: reel.rounds,
  };
  const first = Object.keys(now.supposed)[0].split(" ");
  now.link = { round: origin.round, step: "judge-" + first[2] };
  byId("sv-branch").click();
  return undefined;
}

// The request that a branch is, as JSON: the run on screen, and coins up to this round.
export function wish() {
  const { prompt, names, settings } = reel.run;
  const number = reel.rounds[now.at.round].number;
  const before = Object.entries(settings.coins || {}).filter(
    ([name]) => Number(name.split(" ")[0]) <= number,
  );
  const coins = { ...Object.fromEntries(before), ...now.supposed };
  const [target, drafter] = names;
  return JSON.stringify({ prompt, target, drafter, settings: { ...settings, coins } });
}

// Says of a branched run that it is one, and leads back to the run that it came from.
export function showFork() {
  const coins = Object.keys(reel.run?.settings.coins || {});
  const place = $(".sv-fork");
  place.hidden = !coins.length;
  if (!coins.length) origin = null;
  if (!coins.length) return;
  const rounds = [...new Set(coins.map((name) => Number(name.split(" ")[0])))];
  const parts = [
    "A run of its own: ",
    coins.length === 1 ? "one coin was" : coins.length + " coins were",
    " laid by hand in round " + rounds.join(", ") + ". ",
  ];
  if (origin && !sameBefore(rounds[0])) {
    parts.push(
      "Earlier rounds differ too: this machine computes the laws a little otherwise than the one that made the first run. ",
    );
  }
  if (origin) parts.push(answerButton("Back to the run it came from", returnToOrigin));
  place.replaceChildren(...parts);
}

function sameBefore(number) {
  const brought = (rounds) =>
    JSON.stringify(rounds.filter((told) => told.number < number).map((told) => told.brings));
  return brought(reel.rounds) === brought(origin.rounds);
}

function returnToOrigin() {
  const back = origin;
  origin = null;
  pause();
  job.wanted = 0; // should the branch still be running, it is not shown any more
  now.link = { round: back.round, step: back.step };
  reel.text = "";
  feed(back.text);
}
