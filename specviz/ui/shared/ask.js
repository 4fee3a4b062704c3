// Questions to the server: `ask` sends one; a `Question` belongs to a section, and its newest
// answer is shown.

/** @import { Refusal } from "../questions.py" */

/**
 * An answer, or why there is none.
 * @template Answer
 * @typedef {(Answer & { problem?: undefined, field?: undefined }) | Refusal} Reply
 */

const ADDRESS = new URL("../../../ask/", import.meta.url); // of ours below any root path
const SILENCE = 30000; // milliseconds after which no answer is expected any more
// The page's own name, by which the server limits simultaneous questions.
const PAGE = [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join("");

/**
 * Return the answer, or why there is none: `problem` is a sentence. The promise is rejected if the
 * server does not respond.
 * @template Answer
 * @param {string} section
 * @param {object} question
 * @param {number} [patience] In milliseconds.
 * @returns {Promise<Reply<Answer>>}
 */
export async function ask(section, question, patience = SILENCE) {
  const response = await fetch(new URL(section, ADDRESS), {
    method: "POST",
    headers: { "Content-Type": "application/json", "Specviz-Visitor": PAGE },
    body: JSON.stringify(question),
    signal: AbortSignal.timeout(patience),
  });
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { problem: text.slice(0, 300), field: "" }; // from before the question was read
  }
}

/** A section's question: the newest one is sent once the previous one is answered. @template Answer */
export class Question {
  #underWay = false;
  #changed = false; // the values have changed since the last question was sent

  /**
   * @param {string} section Its name on the server.
   * @param {() => void} silent Called if no answer comes for a long time.
   * @param {number} [patience] In milliseconds.
   */
  constructor(section, silent, patience) {
    this.section = section;
    this.silent = silent;
    this.patience = patience;
    this.number = 0; // number of questions sent
    /** @type {() => object} */
    this.request = () => ({});
    /** @type {(answer: Reply<Answer>, request: object) => void} */
    this.show = () => {};
  }

  /**
   * @param {() => object} request Returns the current question.
   * @param {(answer: Reply<Answer>, request: object) => void} show Receives an answer and its question.
   */
  wire(request, show) {
    this.request = request;
    this.show = show;
  }

  get idle() {
    return !this.#underWay && !this.#changed;
  }

  async ask() {
    this.#changed = true;
    if (this.#underWay) return;
    this.#underWay = true;
    try {
      while (this.#changed) await this.#send();
    } finally {
      this.#underWay = false;
    }
  }

  async #send() {
    this.#changed = false;
    this.number += 1;
    const request = this.request();
    /** @type {Reply<Answer>} */
    let answer;
    try {
      answer = await ask(this.section, request, this.patience);
    } catch {
      this.silent();
      return;
    }
    this.show(answer, request);
  }
}
