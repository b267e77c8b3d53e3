// Opening: files that are dropped, and roles of columns.
"use strict";

// Files that are dropped, or picked, go up as they are.
function takeFile(file) {
  const shown = document.getElementById("upload"), bar = shown.querySelector("progress"), said = shown.querySelector("p");
  const problems = document.getElementById("drop-problems");
  problems.replaceChildren();
  shown.hidden = false;
  said.textContent = `Taking ${file.name} in…`;
  const request = new XMLHttpRequest();
  request.open("PUT", "/open/dropped/" + encodeURIComponent(file.name));
  request.setRequestHeader("X-Discreet-Proof", proof());
  request.setRequestHeader("HX-Request", "true");
  request.upload.onprogress = (event) => { bar.value = 100 * event.loaded / event.total; };
  request.upload.onload = () => { bar.removeAttribute("value"); said.textContent = `Reading ${file.name}…`; };
  request.onload = () => {
    const next = request.getResponseHeader("HX-Redirect");
    if (next) { location.href = next; return; }
    shown.hidden = true;
    const text = request.responseText;
    problems.innerHTML = text.trimStart().startsWith("<") ? text : asRefusal(text);
  };
  request.onerror = () => { shown.hidden = true; problems.innerHTML = asRefusal("The file did not arrive: it may be too large, or the studio was ended."); };
  request.send(file);
}
document.addEventListener("change", (event) => {
  if (event.target.id === "pick" && event.target.files.length) takeFile(event.target.files[0]);
});
for (const kind of ["dragover", "dragleave", "drop"]) document.addEventListener(kind, (event) => {
  const zone = document.getElementById("drop");
  if (!zone) return;
  event.preventDefault();
  zone.classList.toggle("over", kind === "dragover");
  if (kind === "drop" && event.dataTransfer.files.length) takeFile(event.dataTransfer.files[0]);
});

// Columns that are chosen, and the role of a single one.
function countChosen(form) {
  const boxes = [...form.querySelectorAll("input[name=column]")], chosen = boxes.filter((box) => box.checked).length;
  form.querySelector("[data-chosen-count]").textContent = chosen;
  for (const button of form.querySelectorAll(".bar button")) button.disabled = !chosen;
  const all = form.querySelector("[data-choose-all]");
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
}
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-chosen]");
  if (!form) return;
  if (event.target.matches("[data-choose-all]")) for (const box of form.querySelectorAll("input[name=column]")) box.checked = event.target.checked;
  if (event.target.matches("[data-role-of]")) {
    const name = document.getElementById(event.target.dataset.roleOf).value;
    htmx.ajax("POST", form.getAttribute("hx-post"), { source: event.target, target: form.getAttribute("hx-target"), swap: "outerHTML",
      values: { column: name, role: event.target.value } });
    document.getElementById("counting").classList.add("htmx-request");
    return;
  }
  countChosen(form);
});
