// Tabs: one part of the page hands another something to show, wherever that stands.

const handed = () => ((window.specviz = window.specviz || {}).handed = window.specviz.handed || {});

// Opens a tab by its name and hands `data` to the part there, which may not be up yet.
function visit(tab, part, data) {
  handed()[part] = data;
  const buttons = [...document.querySelectorAll("#sv-tabs > .tab-wrapper [role=tab]")];
  const button = buttons.find((one) => one.textContent.trim() === tab);
  if (button) button.click();
  window.dispatchEvent(new CustomEvent("sv-handed", { detail: part }));
}

// Calls `take` with what is handed to the part called `part`, now and later.
function expect(part, take) {
  const look = () => {
    if (!(part in handed())) return;
    const data = handed()[part];
    delete handed()[part];
    take(data);
  };
  window.addEventListener("sv-handed", (event) => event.detail === part && look());
  look();
}
