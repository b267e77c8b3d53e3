// What pages do besides swapping parts: dropped files, chosen columns, charts, and errors in place.
"use strict";

const proof = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-Discreet-Proof"];

// An error goes to the place nearest to what was asked, and is gone with the next answer.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  const near = requestConfig.elt.closest("[data-problems]") || document.querySelector("[data-problems]");
  const place = near && near.querySelector(".problems");
  if (xhr.status < 400) {
    if (place && !requestConfig.elt.matches("#plan-state")) place.replaceChildren();
    return;
  }
  event.detail.isError = false;
  if (!place) return;
  event.detail.shouldSwap = true;
  event.detail.target = place;
  event.detail.swapOverride = "innerHTML";
  if (!xhr.responseText.trimStart().startsWith("<")) event.detail.serverResponse = asRefusal(xhr.responseText);
});
document.addEventListener("htmx:afterSwap", (event) => {
  const alert = event.target.matches(".problems") && event.target.querySelector(":scope > .refusal");
  if (alert) alert.scrollIntoView({ block: "nearest" });
});
document.addEventListener("htmx:sendError", (event) => {
  const near = event.detail.elt.closest("[data-problems]");
  const place = near && near.querySelector(".problems");
  if (place) place.innerHTML = asRefusal("The studio does not answer. It may have been ended.");
});

function asRefusal(text) {
  const box = document.createElement("div"), line = document.createElement("p"), strong = document.createElement("strong");
  box.className = "refusal";
  box.setAttribute("role", "alert");
  strong.textContent = text;
  line.append(strong);
  box.append(line);
  return box.outerHTML;
}

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

// A slider and the number beside it say the same.
document.addEventListener("input", (event) => {
  const number = event.target.dataset.slides && document.getElementById(event.target.dataset.slides);
  if (number) number.value = event.target.value;
});

// Charts: specifications as the reports have them, drawn without eval.
const charts = ["vega", "vega-lite", "vega-embed"];
let loading = null;
function loadCharts() {
  loading ??= charts.reduce((before, name) => before.then(() => new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `/static/vendor/${name}.min.js`;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  })), Promise.resolve());
  return loading;
}
function drawCharts(within) {
  for (const figure of within.querySelectorAll("[data-chart]:not([data-drawn])")) {
    figure.dataset.drawn = "";
    const spec = JSON.parse(figure.dataset.chart), place = document.createElement("div");
    figure.append(place);
    loadCharts().then(() => vegaEmbed(place, spec, { ast: true, renderer: "svg", actions: false, defaultStyle: false,
      tooltip: { disableDefaultStyle: true } })).then(({ view }) => {
      figure.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: view }));
      view.addEventListener("click", (_, item) => {
        const { address, fill } = (item && item.datum) || {};
        if (address) location.href = address;
        if (fill) for (const [name, value] of Object.entries(fill)) {
          const field = figure.closest("[data-fills]").querySelector(`[name="given.${name}"]`);
          if (field.type === "checkbox") field.checked = value;
          else field.value = value;
        }
      });
    });
  }
}
document.addEventListener("DOMContentLoaded", () => drawCharts(document));
document.addEventListener("htmx:load", (event) => drawCharts(event.detail.elt));

// Tables sort by a click on a heading, and show only rows with a text.
document.addEventListener("click", (event) => {
  const head = event.target.closest(".sortable thead th");
  if (!head) return;
  const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => { const cell = row.cells[column]; return cell ? (cell.dataset.value ?? cell.textContent.trim()) : ""; };
  const compare = (a, b) => {
    const x = value(a), y = value(b);
    if (x === "" || y === "") return (x === "") - (y === "");
    const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
    return down ? -order : order;
  };
  body.append(...[...body.rows].sort(compare));
});
document.addEventListener("keydown", (event) => {
  if ((event.key === "Enter" || event.key === " ") && event.target.matches(".sortable thead th")) { event.preventDefault(); event.target.click(); }
});
document.addEventListener("input", (event) => {
  const wanted = event.target.dataset.filter;
  if (!wanted) return;
  const text = event.target.value.toLowerCase();
  for (const row of document.getElementById(wanted).tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(text);
});

// Widths of intervals follow the handle: each twice the one before, as many as there were.
document.addEventListener("input", (event) => {
  const field = event.target.dataset.widths && document.getElementById(event.target.dataset.widths);
  if (!field) return;
  const many = Math.max(1, field.value.split(",").filter((part) => part.trim()).length), first = Number(event.target.value);
  field.value = Array.from({ length: many }, (_, level) => Number((first * 2 ** level).toPrecision(12))).join(", ");
  field.dispatchEvent(new Event("widths", { bubbles: true }));
});

// Values are put into groups: dragged, or chosen and put.
function putInto(form, name, chips) {
  const groups = form.querySelector("[data-groups]");
  let group = [...groups.children].find((one) => one.dataset.group === name);
  if (!group) {
    group = document.createElement("fieldset");
    group.className = "group";
    group.dataset.group = name;
    const legend = document.createElement("legend");
    legend.textContent = name;
    group.append(legend);
    groups.append(group);
  }
  for (const chip of chips) {
    chip.querySelector("[data-chip]").checked = false;
    chip.querySelector("input[type=hidden]").value = name;
    group.append(chip);
  }
}
let dragged = null;
document.addEventListener("click", (event) => {
  if (!event.target.matches("[data-group-put]")) return;
  const form = event.target.closest("form"), name = form.querySelector("[data-group-name]").value.trim();
  putInto(form, name, [...form.querySelectorAll("[data-chip]:checked")].map((box) => box.closest(".chip")));
});
document.addEventListener("dragstart", (event) => { dragged = event.target.closest && event.target.closest(".chip"); });
document.addEventListener("dragover", (event) => {
  const group = dragged && event.target.closest("[data-group]");
  for (const other of document.querySelectorAll(".group.over")) other.classList.remove("over");
  if (group) { event.preventDefault(); group.classList.add("over"); }
});
document.addEventListener("drop", (event) => {
  const group = dragged && event.target.closest("[data-group]");
  if (!group) return;
  event.preventDefault();
  group.classList.remove("over");
  putInto(group.closest("form"), group.dataset.group, [dragged]);
  dragged = null;
});

// What was asked for is brought into view, unless it is there already.
document.addEventListener("htmx:afterSettle", (event) => {
  const place = event.detail.target;
  if (place && place.matches("[data-into-view]") && place.getBoundingClientRect().top > innerHeight * 0.7) place.scrollIntoView({ block: "start" });
});
