// A script in the page's head, which runs before Gradio's scripts. It saves work that Gradio's page
// does for nothing. If Gradio changes, these parts have no effect, and the page takes as much time
// as without this script. Nothing here may throw an exception.

// The loader. Why: while the page loads, Gradio's loader counts seconds, once per animation frame.
// After the loader was removed, it continues to count (its component is destroyed while its status
// is still "pending", so nothing tells it to stop), and a page on which nothing moves uses a tenth
// of a core.
//
// How: the loader is recognized by its callback, whose source reads `performance.now()`. When the
// page is complete, its next animation frame is not requested. If another part has to be awaited
// later, its loader requests frames of its own.

{
  const ask = window.requestAnimationFrame.bind(window);
  const counts = (step: FrameRequestCallback) => {
    try {
      return /performance\.now\(\)/.test(`${step}`);
    } catch {
      return false;
    }
  };
  let loading = false; // whether the loader counts
  window.requestAnimationFrame = (step) => {
    if (!counts(step)) return ask(step);
    const stands = document.getElementById("sv-brand") !== null;
    if (stands && loading) {
      loading = false;
      return 0;
    }
    loading = !stands;
    return ask(step);
  };
}

// The events. Why: for each component, Gradio's page reads the targets of all events, twice while
// it opens. Svelte would track each of these reads, although the events never change; that took
// 1.1 of the 2.5 seconds of processor time in which the page opened on one machine.
//
// How: Svelte tracks arrays and plain objects; an array of a class of its own stays as it is.
//
// The progress of events. Why: an event that shows no progress has none for its outputs, but still
// one for each of its inputs, which nothing shows. Gradio's page keeps these forever and searches
// for the component of each of them several times in each later event: 26 of them, 780 searches
// for a key on a slider of Cost, and more the longer the page is used.
//
// How: Gradio appends the inputs to the list of the outputs that show progress; an empty list of
// a class of its own has nothing appended.

{
  class Untracked extends Array {}
  class Silent extends Array {
    concat() {
      return [];
    }
  }
  const property = { configurable: true, enumerable: true };
  Object.defineProperty(window, "gradio_config", {
    ...property,
    set(config) {
      const [name, value, writable] = ["gradio_config", config, true];
      Object.defineProperty(window, name, { ...property, value, writable });
      const events = config?.dependencies;
      if (!Array.isArray(events)) return;
      Object.setPrototypeOf(events, Untracked.prototype);
      for (const { show_progress_on: shown } of events)
        if (Array.isArray(shown) && shown.length === 0)
          Object.setPrototypeOf(shown, Silent.prototype);
    },
  });
}
