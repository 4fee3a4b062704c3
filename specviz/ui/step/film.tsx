// A film of one round: every step as a picture of the player, at the pace of a slow autoplay, as one
// animated picture that repeats.

import { Gif } from "../shared/gif";
import { imageOf, isShown, save, svgOf } from "../shared/picture";
import { required } from "../shared/required";
import { Button, Component } from "../shared/view";
import { frameAt, player, stepsOf } from "./state";
import { glimpse } from "./paint";
import { PACE, pause } from "./playback";
import { fileOf, provenance, stepInRound } from "./source_line";
import { $ } from "./stage";

const PARTS = [".sv-strip", ".sv-caption", ".sv-picture", ".sv-lanes", ".sv-evidence"]; // of both modes
const WIDEST = 1600; // pixels; a narrower player is drawn enlarged, up to twice its size
const SLOWLY = 2; // times autoplay's pace, since a film is not stopped
const AT_END = 4; // seconds that the last step stays
const LENGTH = 10; // seconds of a whole film at most
const FOOT = 28; // px below the player, for the line that says what the film shows
const EDGE = 16;
const UNABLE =
  "This browser cannot make a film: it does not draw parts of a page into a picture. Try Chrome, Edge or Firefox.";

/** A step's picture, and the seconds that it stays. */
export type Shot = { svg: string; seconds: number };

/** Lets the browser show something in between. */
const breath = () => new Promise((done) => setTimeout(done));

function shoot(round: number, step: number): Shot {
  const svg = glimpse(round, step, () => svgOf(PARTS.map((part) => $(part)).filter(isShown)));
  const isLast = step === stepsOf(round) - 1;
  const pace = (SLOWLY * PACE[frameAt(round, step).step.kind]) / 1000;
  return { svg, seconds: isLast ? AT_END : pace };
}

/** Draws a line below the player. */
function drawFoot(pen: CanvasRenderingContext2D, line: string, width: number, top: number) {
  const style = getComputedStyle($(".sv"));
  pen.fillStyle = style.getPropertyValue("--sv-ink2");
  pen.font = "12px " + style.fontFamily;
  pen.textBaseline = "middle";
  pen.fillText(line, EDGE, top + FOOT / 2 - 4, width - 2 * EDGE);
}

/**
 * The film of a round.
 * @param tell Called before each step.
 */
async function filmOf(round: number, tell: (step: number) => void) {
  const { run } = player;
  const shots: Shot[] = [];
  for (let step = 0; step < stepsOf(round); step += 1) {
    tell(step);
    await breath();
    if (player.run !== run) return null;
    shots.push(shoot(round, step));
  }
  const images = await Promise.all(shots.map(({ svg }) => imageOf(svg)));
  const width = Math.max(...images.map((image) => image.width));
  const height = Math.max(...images.map((image) => image.height));
  const sharp = Math.max(1, Math.min(2, WIDEST / width));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round((height + FOOT) * sharp);
  const pen = required(canvas.getContext("2d", { willReadFrequently: true }));
  pen.scale(sharp, sharp);
  const gif = new Gif(canvas.width, canvas.height);
  const whole = shots.reduce((sum, { seconds }) => sum + seconds, 0);
  const faster = Math.min(1, LENGTH / whole);
  for (const [step, { seconds }] of shots.entries()) {
    pen.fillStyle = getComputedStyle(document.body).getPropertyValue("--sv-bg");
    pen.fillRect(0, 0, width, height + FOOT);
    pen.drawImage(images[step], 0, 0);
    drawFoot(pen, [stepInRound(round, step), ...provenance()].join(" · "), width, height);
    gif.add(pen.getImageData(0, 0, canvas.width, canvas.height).data, seconds * faster);
    await breath();
  }
  return gif.blob();
}

/** A button that saves the round on screen as a film, and tells how many steps are drawn so far. */
export class SaveFilm extends Component<object, { told?: string; busy?: boolean }> {
  async save() {
    if (this.state.busy || !player.rounds.length) return;
    pause();
    const { round } = player.at;
    const name = fileOf(round);
    const of = stepsOf(round);
    const tell = (step: number) =>
      this.setState({ busy: true, told: "Drawing step " + (step + 1) + " of " + of + "." });
    try {
      const film = await filmOf(round, tell);
      if (film) save(film, "specviz-" + name + ".gif");
      this.setState({ busy: false, told: film ? "" : "Another run is on screen player." });
    } catch {
      this.setState({ busy: false, told: UNABLE });
    }
  }

  render() {
    const { told = "", busy = false } = this.state;
    const title = "An animated picture (GIF) of the steps of this round, for slides";
    const attributes = { class: "sv-link", title, "aria-disabled": busy };
    return (
      <span class="sv-film">
        {Button("Save this round as a film", () => this.save(), attributes)}
        <span role="status">{told && " " + told}</span>
      </span>
    );
  }
}
