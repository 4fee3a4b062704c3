// Questions to the server: one at a time, and when its answer is here, the newest that came meanwhile.

export class Question {
  /**
   * @param {string} button The id of what sends a question; it may come up after the section.
   * @param {() => void} silent Says that no answer has come for long.
   * @param {number} patience In milliseconds; then the next question may go.
   */
  constructor(button, silent, patience = 10000) {
    this.button = button;
    this.silent = silent;
    this.patience = patience;
    this.number = 0; // of the newest question that was sent
    this.under = false; // it is on its way
    this.again = false; // something has changed meanwhile
    this.timer = 0;
  }

  get idle() {
    return !this.under && !this.again;
  }

  ask() {
    this.again = true;
    if (this.under) return;
    clearTimeout(this.timer);
    const button = document.getElementById(this.button);
    if (!button) {
      this.timer = setTimeout(() => this.ask(), 50); // Gradio is not done with the page yet
      return;
    }
    this.number += 1;
    [this.under, this.again] = [true, false];
    this.timer = setTimeout(() => this.giveUp(), this.patience);
    button.click();
  }

  giveUp() {
    this.under = false;
    this.silent();
    if (this.again) this.ask();
  }

  /**
   * Whether an answer is the newest question's; then the next may go, by `next`.
   * @param {number} id
   */
  answers(id) {
    if (id !== this.number) return false;
    clearTimeout(this.timer);
    this.under = false;
    return true;
  }

  next() {
    if (this.again) this.ask();
  }
}
