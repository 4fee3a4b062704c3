// What a section stands on: its element, its value, its events and what Python told it. Each stands
// on the page once, so its modules share one stage, which is bare until the section starts.

export class Stage {
  constructor() {
    this.element = null;
    this.props = null;
    this.config = null;
    this.$ = (selector) => this.element.querySelector(selector);
  }

  set(element, props, config) {
    Object.assign(this, { element, props, config });
  }
}
