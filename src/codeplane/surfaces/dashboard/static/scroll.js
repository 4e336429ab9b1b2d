// Parts that scroll can be reached by keyboard. Where there is no script the browser does the same by itself.

function reach() {
  for (const part of document.querySelectorAll(".scroll")) {
    if (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

addEventListener("resize", reach);
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
