// Promising: a slider and the number beside it say the same.
"use strict";

document.addEventListener("input", (event) => {
  const number = event.target.dataset.slides && document.getElementById(event.target.dataset.slides);
  if (number) number.value = event.target.value;
});
