// The part's public face: `window.specviz.domains`.

window.specviz = window.specviz || {};
window.specviz.domains = window.specviz.domains || {};
window.specviz.domains[CONFIG.name] = {
  begin, stop, ended, size, feed,
  get asked() { return wanted; },
  get view() { return view(); },
};

// How much work the form asks for: it stands under the form's own button.
function size(text) {
  const place = document.querySelector("#sv-domains-size .sv-domains-size");
  if (place) place.textContent = text;
}

function start() {
  paint();
  listen();
  watch("value", receive);
  receive();
}

start();
