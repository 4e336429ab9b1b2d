// Small comforts of forms; all of them work without this file.

document.addEventListener("input", (event) => event.target.form?.setAttribute("data-changed", ""));

// Twice on a button is one answer.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});

// A page that the browser kept may be answered again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Empty fields of a filter need not be in the address.
document.addEventListener("formdata", (event) => {
  if (event.target.method !== "get") return;
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
});
