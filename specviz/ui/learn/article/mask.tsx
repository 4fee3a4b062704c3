// The attention mask of one pass: which position reads which words.

import { flat } from "../../shared/dom";
import { classes, render, RunningToken } from "../../shared/view";

import type { Word } from "../../../frames/scene.py";
import type { Mask } from "../figures.py";

/** Return whether the position of a word reads another: itself and what is before it. */
export const reads = (row: number, column: number) => column <= row;

export function startMask(element: HTMLElement, { words }: Mask) {
  const choose = (chosen: number) => {
    const row = (at: number) => Row(words, at, chosen, choose);
    render([Grid(words, row), Said(words, chosen)], element);
  };
  choose(words.length - 2);
}

const Grid = (words: Word[], row: (at: number) => unknown) => (
  <div class="scroll">
    <table>
      <thead>
        <tr>
          <th scope="col">position of</th>
          <th scope="col" class="before">
            text before
          </th>
          {words.map((word) => (
            <th scope="col">{RunningToken(word)}</th>
          ))}
        </tr>
      </thead>
      <tbody>{words.map((_, at) => row(at))}</tbody>
    </table>
  </div>
);

const Row = (words: Word[], at: number, chosen: number, choose: (at: number) => void) => (
  <tr class={classes(at === chosen && "chosen")}>
    <th scope="row">
      <button type="button" aria-pressed={at === chosen} onClick={() => choose(at)}>
        {RunningToken(words[at])}
      </button>
    </th>
    {[-1, ...words.keys()].map((column) => (
      <td class={classes(reads(at, column) && "reads")}>
        <span>{reads(at, column) ? "reads" : "not"}</span>
      </td>
    ))}
  </tr>
);

/** What the chosen position reads, and what its p is for. */
function Said(words: Word[], chosen: number) {
  const own = flat(words[chosen]);
  const next = words[chosen + 1];
  const hidden = words.length - 1 - chosen;
  return (
    <p class="said" aria-live="polite">
      The position of <b class="token">{own}</b> reads the text
      {chosen > 1 ? ` and the ${chosen} guesses up to itself` : chosen ? " and itself" : ""},{" "}
      {hidden
        ? `not the ${hidden === 1 ? "guess" : `${hidden} guesses`} after it. `
        : "all of it. "}
      {next ? (
        <>
          So its p is what plain decoding would compute after the same words, and{" "}
          <b class="token">{flat(next)}</b> is judged with it.
        </>
      ) : (
        "Its p is for the token after the last guess."
      )}
    </p>
  );
}
