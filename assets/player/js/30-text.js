// The text strip: what earlier rounds left, a link to each of them, and the chips of this round.

const RECENT = 120; // rounds; a longer text is cut at its start, so that a step stays quick
const past = new Map();

function pastRound(index) {
  const told = reel.rounds[index];
  const link = el("button", "sv-done");
  link.type = "button";
  link.title = "Go to round " + told.number;
  link.addEventListener("click", () => go(index, stepsOf(index) - 1));
  for (const [pieces, kind] of told.brings) {
    const made = el("span", "sv-h sv-" + kind, running(pieces));
    if (kind === "recovered" || kind === "bonus") made.append(mark(kind));
    link.append(made);
  }
  return link;
}

function chip(view) {
  const made = el("span", "sv-chip sv-" + view.is, word(view.w), mark(view.is));
  made.title = view.is + ": " + meaning(view.is);
  return made;
}

// Rounds from..round - 1 stand in the strip, each made once.
function showPast(from, round) {
  for (const [index, link] of past) {
    if (index >= from && index < round) continue;
    link.remove();
    past.delete(index);
  }
  const strip = $(".sv-past");
  for (let index = round - 1, after = null; index >= from; index -= 1) {
    if (!past.has(index)) {
      past.set(index, pastRound(index));
      strip.insertBefore(past.get(index), after);
    }
    after = past.get(index);
  }
}

function showText(frame, round) {
  const from = Math.max(0, round - RECENT);
  showPast(from, round);
  $(".sv-prompt").textContent = from ? "… " : reel.run.prompt;
  $(".sv-now").replaceChildren(...frame.chips.map(chip));
  const box = $(".sv-strip");
  box.scrollTop = box.scrollHeight;
}

function clearText() {
  past.clear();
  for (const name of [".sv-prompt", ".sv-past", ".sv-now"]) $(name).replaceChildren();
}
