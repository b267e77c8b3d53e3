// What all pages do besides swapping parts: errors in place, charts, and tables. Steps have scripts of their own.
"use strict";

const proof = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-Discreet-Proof"];

// An error goes to the place nearest to what was asked, and is gone with the next answer.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (xhr.status === 204) return;
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

// Whoever works by keyboard stays where they were: at the same thing of what came in its place, or at its beginning.
let left = null;
document.addEventListener("htmx:beforeSwap", (event) => {
  const focused = document.activeElement, target = event.detail.target;
  left = target && target !== focused && target.contains(focused) ? { focused: focused.id, target: target.id } : null;
});
document.addEventListener("htmx:afterSettle", () => {
  if (!left || document.activeElement !== document.body) return;
  const same = left.focused && document.getElementById(left.focused), place = left.target && document.getElementById(left.target);
  left = null;
  for (const one of [same, place]) {
    if (one === place && one) one.tabIndex = -1;
    if (one) one.focus({ preventScroll: true });
    if (document.activeElement !== document.body) return;
  }
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
      letKeysScroll(figure);
      figure.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: view }));
      view.addEventListener("click", (_, item) => {
        const { press, fill } = (item && item.datum) || {};
        const pressed = press && document.getElementById(press);
        if (pressed) pressed.click();
        if (fill) for (const [name, value] of Object.entries(fill)) {
          const field = figure.closest("[data-fills]").querySelector(`[name="given.${name}"]`);
          if (field.type === "checkbox") field.checked = value;
          else field.value = value;
        }
      });
    });
  }
}
function letKeysScroll(...wide) {
  for (const one of wide) if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
}
document.addEventListener("DOMContentLoaded", () => drawCharts(document));
document.addEventListener("htmx:load", (event) => {
  drawCharts(event.detail.elt);
  letKeysScroll(...event.detail.elt.querySelectorAll(".report table"));
});

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

// What was asked for is brought into view, unless it is there already.
document.addEventListener("htmx:afterSettle", (event) => {
  const place = event.detail.target;
  if (place && place.matches("[data-into-view]") && place.getBoundingClientRect().top > innerHeight * 0.7) place.scrollIntoView({ block: "start" });
});
