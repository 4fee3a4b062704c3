// What every part asks of the page around it: the theme, and whether the server is still there.

// Calls `repaint` whenever the page turns dark or light.
function onTheme(repaint) {
  let dark = document.body.classList.contains("dark");
  new MutationObserver(() => {
    if (dark === document.body.classList.contains("dark")) return;
    dark = !dark;
    repaint();
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}

// Nobody tells the page that the server is gone: while a job is `underWay` it asks now and then.
async function knock(underWay, lost) {
  await new Promise((done) => setTimeout(done, 5000));
  if (!underWay()) return;
  const there = await fetch(CONFIG.plotly, { method: "HEAD", cache: "no-store" }).then(() => true, () => false);
  if (!underWay()) return;
  if (there) knock(underWay, lost);
  else lost();
}

const inLine = (place) => "Waiting in line: " + (place === 1 ? "1 run" : place + " runs") + " before yours.";
