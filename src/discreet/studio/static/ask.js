// Asking: proposals while SQL is typed, and the form that writes it.
"use strict";

const words = JSON.parse(document.getElementById("vocabulary").textContent);
const KEYWORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "AND", "OR", "NOT", "IN (", "BETWEEN", "IS NULL", "AS", "CASE WHEN", "THEN", "ELSE", "END",
  "COUNT(*)", "AVG(", "SUM(", "MIN(", "MAX(", "MEDIAN("];
const MOST = 12;
const list = document.getElementById("completions");
let chosen = 0, offered = [], from = 0;

const editor = () => document.getElementById("sql");
const columnOf = (text) => words.columns.find((c) => c.sql === text || c.name.toLowerCase() === text.toLowerCase());

// What may follow: values of the column that is compared, else columns and words of SQL.
function propose(text, all) {
  const compared = text.match(/("(?:[^"]|"")+"|[A-Za-z_]\w*)\s*(?:=|<>|!=|<=|>=|<|>|\bNOT\s+IN\s*\(|\bIN\s*\(|\bLIKE)\s*((?:[^()'"]|'(?:[^']|'')*')*?)('(?:[^']|'')*|[\w.-]*)$/i);
  const column = compared && columnOf(compared[1]);
  if (column && column.values.length && (compared[3] || all || /[=<>(,]\s*$/.test(text)) && !/\b(AND|OR|GROUP|ORDER|LIMIT)\b/i.test(compared[2])) {
    const typed = compared[3].replace(/^'/, "").replaceAll("''", "'").toLowerCase();
    const near = column.values.filter((v) => v.text.toLowerCase().includes(typed));
    near.sort((a, b) => b.text.toLowerCase().startsWith(typed) - a.text.toLowerCase().startsWith(typed));
    return { start: text.length - compared[3].length, found: near.map((v) => ({ text: v.text, sql: v.sql, kind: "value" })), typed: compared[3] };
  }
  if ((text.match(/'/g) || []).length % 2) return { start: 0, found: [], typed: "" };
  const typed = text.match(/"[^"]*$|[A-Za-z_][\w-]*$/)?.[0] ?? "";
  if (!typed && !all) return { start: 0, found: [], typed };
  const plain = typed.replace(/^"/, "").toLowerCase();
  const columns = words.columns.map((c) => ({ text: c.name, sql: c.sql, kind: c.type }));
  const others = typed.startsWith('"') ? [] : [{ text: words.table, sql: words.table, kind: "table" }, ...KEYWORDS.map((k) => ({ text: k, sql: k, kind: "SQL" }))];
  const begins = (o) => o.text.toLowerCase().startsWith(plain);
  const holds = (o) => !begins(o) && o.kind !== "SQL" && plain && o.text.toLowerCase().includes(plain);
  return { start: text.length - typed.length, found: [...columns.filter(begins), ...others.filter(begins), ...columns.filter(holds)], typed };
}

function offer(all = false) {
  const box = editor(), text = box.value.slice(0, box.selectionStart);
  const { start, found, typed } = propose(text, all);
  const done = found.length === 1 && found[0].sql === typed;
  offered = done ? [] : found.slice(0, MOST);
  from = start;
  chosen = 0;
  show();
}

function show() {
  const box = editor();
  list.replaceChildren(...offered.map((one, place) => {
    const item = document.createElement("li"), kind = document.createElement("small");
    item.id = `completion-${place}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", place === chosen);
    item.textContent = one.text.length > 60 ? one.text.slice(0, 59) + "…" : one.text;
    kind.textContent = one.kind;
    item.append(" ", kind);
    item.addEventListener("mousedown", (event) => { event.preventDefault(); chosen = place; take(); });
    return item;
  }));
  list.hidden = !offered.length;
  if (list.hidden) { box.removeAttribute("aria-activedescendant"); return; }
  box.setAttribute("aria-activedescendant", `completion-${chosen}`);
  const lines = box.value.slice(0, from).split("\n"), style = getComputedStyle(box);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontSize} ${style.fontFamily}`;
  const across = pen.measureText("m").width * lines.at(-1).length + parseFloat(style.paddingLeft) - box.scrollLeft;
  const down = lines.length * parseFloat(style.lineHeight) + parseFloat(style.paddingTop) - box.scrollTop;
  list.style.left = `${Math.max(0, Math.min(across, box.clientWidth - list.offsetWidth))}px`;
  list.style.top = `${Math.min(down, box.clientHeight) + 4}px`;
  list.querySelector("[aria-selected=true]").scrollIntoView({ block: "nearest" });
}

function take() {
  const box = editor(), { sql } = offered[chosen];
  box.setRangeText(sql, from, box.selectionStart, "end");
  offered = [];
  show();
  box.focus();
}

document.addEventListener("input", (event) => { if (event.target.matches("[data-completes]")) offer(); });
document.addEventListener("focusout", (event) => { if (event.target.matches("[data-completes]")) { offered = []; show(); } });
document.addEventListener("keydown", (event) => {
  if (!event.target.matches("[data-completes]")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); document.getElementById("ask-form").requestSubmit(); return; }
  if (event.key === " " && event.ctrlKey) { event.preventDefault(); offer(true); return; }
  if (list.hidden || event.shiftKey) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { event.preventDefault(); chosen = (chosen + step + offered.length) % offered.length; show(); }
  if (event.key === "Tab" || event.key === "Enter") { event.preventDefault(); take(); }
  if (event.key === "Escape") { offered = []; show(); }
});

// The form: what it needs is shown when it does.
function settle() {
  const form = document.getElementById("question-form");
  form.querySelector("[data-of]").hidden = form.querySelector("[data-measure]").value === "count";
  const steps = form.querySelectorAll("[data-step]");
  form.querySelectorAll("[data-by]").forEach((by, place) => { steps[place].hidden = !by.selectedOptions[0].hasAttribute("data-numeric"); });
}
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-values-for]")) event.target.closest(".condition").querySelector("input").setAttribute("list", event.target.selectedOptions[0].dataset.values || "");
  if (event.target.closest("#question-form")) settle();
});
settle();
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.add) document.querySelector(button.dataset.add).append(document.getElementById("condition").content.cloneNode(true));
  if (button.dataset.remove) { const form = button.form; button.closest(button.dataset.remove).remove(); htmx.trigger(form, "change"); }
  if (button.dataset.example) {
    editor().value = button.dataset.example;
    editor().focus();
    if (button.hasAttribute("data-asks")) document.getElementById("ask-form").requestSubmit();
  }
  if (button.dataset.copy) navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent).then(() => { button.textContent = "Copied"; });
});
