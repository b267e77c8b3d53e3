// Hierarchies: handles, and values that are put into groups.
"use strict";

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
