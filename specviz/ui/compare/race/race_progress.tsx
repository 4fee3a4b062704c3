// The progress of a race: the lane that runs, and the order of the lanes.

import { plural } from "../../shared/dom";
import { required } from "../../shared/required";

import { story, titleOf } from "./lines";
import { inSeconds, Sign } from "./words";

export function RaceProgress() {
  const { now, race } = story;
  const { order } = required(race);
  const turn = now && now.turn > 1 ? "Repeating the fast lanes: run " + now.turn + " · " : "";
  const lane = now && "Lane " + now.place + " of " + order.length + ": " + titleOf(now.lane);
  const progress =
    now?.seconds == null
      ? now && ", warming up"
      : ", " + plural(now.tokens, "token") + ", " + inSeconds(now.seconds);
  return [
    <span class="sv-race-who" role="status">
      {lane ? turn + lane : "Getting ready"}
    </span>,
    <span class="sv-race-far">{progress}</span>,
    <span class="sv-race-order">
      {"Random order: "}
      {order.flatMap((name, at) => [at ? ", " : "", Step(name, at + 1)])}
    </span>,
  ];
}

// A lane in the order of lanes: done, running or waiting.
function Step(name: string, place: number) {
  const { now } = story;
  const runs = now?.place === place && !now.done;
  const done = now !== null && !runs && now.place >= place;
  return (
    <span
      class={done ? "sv-race-did" : runs ? "sv-race-does" : ""}
      aria-current={runs ? "step" : undefined}
    >
      {titleOf(name)}
      {done ? Sign("same") : null}
    </span>
  );
}
