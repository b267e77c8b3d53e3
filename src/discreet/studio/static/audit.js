// Auditing: what is asked only with something else, and the folder of a release that is dropped.
"use strict";

function reveal(box) {
  document.getElementById(box.dataset.reveals).hidden = !box.checked;
}
document.addEventListener("change", (event) => { if (event.target.matches("[data-reveals]")) reveal(event.target); });
document.querySelectorAll("[data-reveals]").forEach(reveal);

// The files of a release go up one after the other, as they are; then it can be chosen.
async function listFiles(entry, within) {
  if (entry.isFile) return [{ path: within + entry.name, file: await new Promise((done, failed) => entry.file(done, failed)) }];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return found;
    for (const one of some) found.push(...await listFiles(one, `${within}${entry.name}/`));
  }
}
async function takeRelease(files) {
  const zone = document.getElementById("drop-release"), said = zone.querySelector(".stage"), bar = zone.querySelector("progress");
  const select = document.getElementById("compared-release"), option = document.getElementById("dropped-release");
  const problems = zone.closest("[data-problems]").querySelector(".problems");
  const outermost = files.length && files.every(({ path }) => path.includes("/") && path.split("/")[0] === files[0].path.split("/")[0]);
  problems.replaceChildren();
  bar.hidden = false;
  option.hidden = true;
  try {
    for (const [place, { path, file }] of files.entries()) {
      said.textContent = `Taking ${path} in…`;
      bar.value = place / files.length;
      const name = (outermost ? path.slice(path.indexOf("/") + 1) : path).split("/").map(encodeURIComponent).join("/");
      const answer = await fetch(`/audit/dropped/${name}${place ? "" : "?first"}`, { method: "PUT", body: file, headers: { "X-Discreet-Proof": proof(), "HX-Request": "true" } });
      if (!answer.ok) throw await answer.text();
    }
    option.hidden = !files.length;
    option.textContent = outermost ? `${files[0].path.split("/")[0]} (dropped)` : "the one that was dropped";
    select.value = option.value;
    said.textContent = files.length ? `${files.length} files are here. Now compare.` : "There is no file in it.";
  } catch (text) {
    said.textContent = "";
    problems.innerHTML = typeof text === "string" && text.trimStart().startsWith("<") ? text : asRefusal(typeof text === "string" ? text : "The folder did not arrive: it may be too large, or the studio was ended.");
  }
  bar.hidden = true;
}
document.getElementById("pick-release").addEventListener("change", (event) =>
  takeRelease([...event.target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }))));
for (const kind of ["dragover", "drop"]) document.getElementById("drop-release").addEventListener(kind, async (event) => {
  event.preventDefault();
  if (kind !== "drop") return;
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  takeRelease((await Promise.all(entries.map((entry) => listFiles(entry, "")))).flat());
});
