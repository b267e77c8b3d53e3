// Reviewing: what is asked only with something else is shown only then.
"use strict";

function reveal(box) {
  document.getElementById(box.dataset.reveals).hidden = !box.checked;
}
document.addEventListener("change", (event) => { if (event.target.matches("[data-reveals]")) reveal(event.target); });
document.querySelectorAll("[data-reveals]").forEach(reveal);
