// One pass over one position and one over several: the weights go past once in both. The motion is
// the measured time, slowed down; without motion, the picture and the times remain.

import { Button, classes, render, RunningToken } from "../../shared/view";

import type { PassTime, Weights } from "../figures.py";

const SLOWER = 1000;
const TRACK = 0.72; // of the figure's width, of the longest time

/** How long each bar is, in percent, and how long its motion takes in seconds. */
export function timing(seconds: number[]) {
  const longest = Math.max(...seconds);
  return seconds.map((each) => ({ width: (100 * TRACK * each) / longest, motion: each * SLOWER }));
}

export function startWeights(element: HTMLElement, { weights, passes }: Weights) {
  const times = timing(passes.map(({ seconds }) => seconds));
  let played = 0; // how often; a new key starts the motion again
  const show = () =>
    render(
      [
        <ol class="passes" key={played}>
          {passes.map((pass, at) => Pass(pass, times[at], weights, played > 0))}
        </ol>,
        Button(played ? "Play the passes again" : "Play the passes", play, { class: "motion" }),
        <small class="motion"> slowed down {SLOWER.toLocaleString("en")} times</small>,
      ],
      element,
    );
  const play = () => {
    played += 1;
    show();
  };
  show();
  new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (isIntersecting && !played) play();
    },
    { threshold: 0.8 },
  ).observe(element);
}

function Pass(
  { words, text }: PassTime,
  { width, motion }: ReturnType<typeof timing>[number],
  weights: string,
  moves: boolean,
) {
  const style = { animationDuration: motion.toFixed(2) + "s" };
  const positions = words.length === 1 ? "1 position" : words.length + " positions";
  return (
    <li class={classes(moves && "moves")}>
      <p>
        <b>{positions}</b>, {weights} weights read once
      </p>
      <div class="belt">
        <i style={style} />
        <span class="riders">
          {words.map((word) => (
            <b>{RunningToken(word)}</b>
          ))}
        </span>
      </div>
      <p class="time">
        <i style={{ width: width.toFixed(2) + "%", ...style }} />
        <b>{text}</b>
      </p>
    </li>
  );
}
